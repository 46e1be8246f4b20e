# shellcheck shell=bash
# shellcheck disable=SC2154  # variables are set in common.sh
# Sourced by submit.sh after common.sh: prints the table of results.

# Prints tables of results: networks, the smallest first, then models.
print_rows() {
  local schema
  [ $# -gt 0 ] || return 0
  for schema in spdnn-run-1 spdnn-model-1; do
    LC_ALL=C awk -v schema="$schema" -f "$jobs/line.awk" -f "$jobs/table.awk" "$@" |
      LC_ALL=C sort -s -t $'\t' -k 1n,1 -k 2n,2 -k 3,3 | cut -f 4-
  done
}

# Replaces control characters, which a terminal might interpret.
printable() { LC_ALL=C sed -e 's/\xc2[\x80-\x9f]/?/g' -e 's/[\x01-\x08\x0b-\x1f\x7f]/?/g'; }

# Prints the input of unfinished.awk. NAME.failed, which a failed job writes, overrides complaints about its result.
facts() {
  local file
  [ -z "$states" ] || printf 'queue\t%s\n' "${states//$'\n'/$'\n'queue$'\t'}"
  [ ! -r "$elements" ] || cut -f 1 "$elements" | sed 's/^/element\t/'
  for file in "$SPDNN_RESULTS"/*.json; do
    file=${file##*/}
    printf 'result\t%s\n' "${file%.json}"
  done
  {
    for file in "${unreadable[@]}"; do printf 'failed\t%s\tits result cannot be read\n' "$(basename "$file" .json)"; done
    complaints "${readable[@]}" | sed -E 's|^.*/([^/]*)\.json\t|failed\t\1\t|'
    for file in "$SPDNN_RESULTS"/*.failed; do
      printf 'failed\t%s\t%s\n' "$(basename "$file" .failed)" "$(tr '\n\t' '  ' <"$file" | sed 's/ $//')"
    done
  } | LC_ALL=C sort -s -t $'\t' -k 2,2
}

# Prints the results, then queued jobs, failures, and elements that have left the queue without a result or NAME.failed.
print_table() {
  local file states wait='' readable=() unreadable=()
  [ "${1:-}" != --wait ] || { wait=yes && shift; }
  [ $# -eq 0 ] || die 2 "'$1' is no option of table; see --help"
  [ -d "$SPDNN_RESULTS" ] || die 3 "there are no results yet at $SPDNN_RESULTS"
  [[ -r $SPDNN_RESULTS && -x $SPDNN_RESULTS ]] || die 3 "$SPDNN_RESULTS cannot be read"
  states=$(queued)
  while [ -n "$wait" ] && [ -n "$states" ]; do
    sleep 2
    states=$(queued)
  done
  shopt -s nullglob
  for file in "$SPDNN_RESULTS"/*.json; do
    if [ -f "$file" ] && [ -r "$file" ]; then readable+=("$file"); else unreadable+=("$file"); fi
  done
  print_rows "${readable[@]}" | printable
  facts | awk -f "$jobs/unfinished.awk" | printable
}
