#!/usr/bin/env bash
# The front of the cluster jobs; see usage below. What the site wants is in site.sh.
set -euo pipefail
me=submit.sh
jobs=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=jobs/common.sh
. "$jobs/common.sh"

usage() {
  cat <<END
usage: jobs/submit.sh infer [OPTIONS] -- INFER_OPTION...   one problem or model, on all nodes asked for
       jobs/submit.sh sweep [OPTIONS] [-- INFER_OPTION...] configurations x variants, one array element each
       jobs/submit.sh table [--wait]                       what the results hold, and what failed or is missing
options:
  --nodes N            nodes of a job (1)
  --tasks-per-node K   ranks on each node (1)
  --time LIMIT         of a job, in place of SPDNN_TIME_LIMIT
  --name NAME          infer: of the result; default infer-JOB
  --configs LIST       sweep: NEURONSxLAYERS,...; default the 12 official ones
  --variants LIST      sweep: engines, see spdnn variants; default auto
  --at-once K          sweep: so many elements run at one time
  --dry-run            shows the sbatch command and submits nothing
  --wait               table: only when none of these jobs is in the queue any more
INFER_OPTION is what spdnn infer takes, except --json and --checkpoint, which the job adds; with --model it adds --json
alone, as models have no checkpoints. An element of a sweep that the results hold, of the same commit and configuration,
is not run again; it runs from its checkpoint if it has one.
Results, checkpoints and logs are in $SPDNN_RESULTS
Exit codes: 0; 1 the table lists something that failed or is missing; 2 usage; 3 data; 4 Slurm refused.
END
}

# Reads the options of infer and sweep; what follows -- goes to infer_options.
nodes=1 tasks=1 name='' configs='' variants=auto at_once='' dry='' infer_options=()
read_options() {
  local command=$1
  shift
  while [ $# -gt 0 ]; do
    case $1 in
      --) infer_options=("${@:2}") && break ;;
      --dry-run) dry=yes && shift && continue ;;
      --nodes | --tasks-per-node | --time) ;;
      --name) [ "$command" = infer ] || die 2 "$1 belongs to infer; see --help" ;;
      --configs | --variants | --at-once) [ "$command" = sweep ] || die 2 "$1 belongs to sweep; see --help" ;;
      *) die 2 "'$1' is no option of $command; options of spdnn infer follow --; see --help" ;;
    esac
    [ $# -ge 2 ] || die 2 "$1 needs a value"
    case $1 in
      --nodes) nodes=$2 ;;
      --tasks-per-node) tasks=$2 ;;
      --time) SPDNN_TIME_LIMIT=$2 ;;
      --name) name=$2 ;;
      --configs) configs=$2 ;;
      --variants) variants=$2 ;;
      --at-once) at_once=$2 ;;
    esac
    shift 2
  done
  [[ $nodes =~ ^[1-9][0-9]*$ && $tasks =~ ^[1-9][0-9]*$ ]] || die 2 "--nodes and --tasks-per-node are whole numbers above 0"
  [[ $at_once =~ ^([1-9][0-9]*)?$ ]] || die 2 "--at-once is a whole number above 0"
  # A result whose name begins with a dot would be hidden from the table.
  [[ $name =~ ^([A-Za-z0-9_][A-Za-z0-9._-]*)?$ ]] ||
    die 2 "--name $name: expected letters, digits, '.', '_' and '-', of which '.' and '-' are not the first"
  local option
  for option in "${infer_options[@]}"; do
    case $option in
      --model | --model=*) [ "$command" = infer ] || die 2 "${option%%=*} belongs to infer; a sweep is one of official networks" ;;
      --json | --json=* | --checkpoint | --checkpoint=*) die 2 "${option%%=*} is the job's own; the result is in $SPDNN_RESULTS" ;;
    esac
  done
}

# Prints a command as one would type it.
show() {
  local word words=()
  for word in "$@"; do
    [[ $word =~ ^[A-Za-z0-9_@%+=:,./-]+$ ]] || word=$(printf '%q' "$word")
    words+=("$word")
  done
  echo "${words[*]}"
}

# submit KIND LOG_NAME SBATCH_OPTION... -- ARGUMENT...: submits KIND.sbatch.
submit() {
  local kind=$1 log_name=$2 command
  shift 2
  command=(sbatch --parsable --requeue --open-mode=append --job-name="spdnn-$kind" --comment="$SPDNN_RESULTS"
    --output="${SPDNN_RESULTS//%/%%}/logs/%x-$log_name.log" --nodes="$nodes" --ntasks-per-node="$tasks"
    --cpus-per-task="$SPDNN_CPUS_PER_TASK" --time="$SPDNN_TIME_LIMIT" --signal="B:USR1@$SPDNN_SECONDS_TO_STOP")
  [ -z "$SPDNN_PARTITION" ] || command+=(--partition="$SPDNN_PARTITION")
  [ -z "$SPDNN_ACCOUNT" ] || command+=(--account="$SPDNN_ACCOUNT")
  [ -z "$SPDNN_QOS" ] || command+=(--qos="$SPDNN_QOS")
  [ "$SPDNN_GPUS" = 0 ] || command+=("$SPDNN_GPU_REQUEST")
  command+=("${SPDNN_SBATCH_OPTIONS[@]}")
  while [ "$1" != -- ]; do command+=("$1") && shift; done
  shift
  command+=("$jobs/$kind.sbatch" "$jobs" "$@")
  if [ -n "$dry" ]; then
    show "${command[@]}"
    return
  fi
  command -v sbatch >/dev/null || die 4 "there is no command sbatch here: is this a login node of a Slurm cluster?"
  mkdir -p "$SPDNN_RESULTS/logs"
  job=$("${command[@]}") || die 4 "sbatch refused; see jobs/site.sh"
  job=${job%%;*}
  echo "job $job; its log: $SPDNN_RESULTS/logs/spdnn-$kind-${log_name//%[jA]/$job}.log"
}

submit_infer() {
  read_options infer "$@"
  [ ${#infer_options[@]} -gt 0 ] || die 2 "infer needs the problem after --; see --help"
  if of_model "${infer_options[@]}"; then SPDNN_GPUS=0; fi
  submit infer %j -- "$name" "${infer_options[@]}"
}

# Prints the elements asked for as lines of sweep.list. Ranks, images and options other than the usual are part of the name.
asked_for() {
  local config variant suffix='' sum
  [ "$nodes x $tasks" = "1 x 1" ] || suffix=-${nodes}x$tasks
  [ "$sweep_images" = digits60000 ] || suffix+=-$sweep_images
  if [ ${#infer_options[@]} -gt 0 ]; then
    sum=$(printf '%s\0' "${infer_options[@]}" | cksum)
    suffix+=-$(printf '%08x' "${sum%% *}")
  fi
  for config in ${configs//,/ }; do
    [[ $config =~ ^[1-9][0-9]*x[1-9][0-9]*$ ]] || die 2 "--configs: '$config' is not of the form 1024x120"
    for variant in ${variants//,/ }; do
      [[ $variant =~ ^[a-z0-9_]+$ ]] || die 2 "--variants: '$variant' is no name of an engine"
      printf '%s\t%s\t%s\t%s\n' "$config-$variant$suffix" "${config%x*}" "${config#*x}" "$variant"
    done
  done
}

submit_sweep() {
  local line index element_name neurons layers there=0 busy=0 indices='' asked list
  read_options sweep "$@"
  [ -n "$configs" ] || configs=$(printf '%s,' {1024,4096,16384,65536}x{120,480,1920})
  asked=$(asked_for)
  load_modules
  ask_program
  # Lines are added and never changed, so that an index means the same element for good.
  if [ -z "$dry" ]; then
    mkdir -p "$SPDNN_RESULTS"
    exec 9>"$elements.lock"
    flock 9 || echo "jobs/$me: no locks on this file system; do not submit two sweeps at one moment" >&2
  fi
  list=$(cat "$elements" 2>/dev/null || true)
  list=$(awk 'NF && !seen[$0]++' <<<"$list"$'\n'"$asked")
  if [ -z "$dry" ]; then
    echo "$list" >"$elements.new"
    mv "$elements.new" "$elements"
  fi
  states=$(queued)
  while read -r line; do
    index=$(grep -nxF -- "$line" <<<"$list" | cut -d: -f1)
    IFS=$'\t' read -r element_name neurons layers _ <<<"$line"
    if held "$element_name" "$neurons" "$layers"; then
      there=$((there + 1))
    elif in_queue "$index"; then
      busy=$((busy + 1))
    else
      indices+=,$index
    fi
  done <<<"$asked"
  echo "$(wc -l <<<"$asked") elements: $there in the results, $busy in the queue" >&2
  [ -n "$indices" ] || return 0
  submit sweep %A_%a --array="${indices#,}${at_once:+%$at_once}" -- "${infer_options[@]}"
}

# Whether an element, by its index, or a job is in the queue.
in_queue() { awk -v index_="$1" -v job="${2:-none}" '$1 == index_ || $2 == job { found = 1 } END { exit !found }' <<<"$states"; }

# The lines in results, as a table; then what is in the queue, what failed, and what has left the queue without a word.
print_table() {
  local index=0 name file why failed=() missing=()
  if [ "${1:-}" = --wait ]; then
    shift
    while [ -n "$(queued)" ]; do sleep 2; done
  fi
  [ $# -eq 0 ] || die 2 "'$1' is no option of table; see --help"
  [ -d "$SPDNN_RESULTS" ] || die 3 "there are no results yet at $SPDNN_RESULTS"
  shopt -s nullglob
  local files=()
  for file in "$SPDNN_RESULTS"/*.json; do
    if [ -f "$file" ] && [ -r "$file" ]; then files+=("$file"); else failed+=("$(basename "$file" .json): its result cannot be read"); fi
  done
  if [ ${#files[@]} -gt 0 ]; then
    awk -v schema=spdnn-run-1 -f "$jobs/table.awk" "${files[@]}" | LC_ALL=C sort -s -k 1n,1 -k 2n,2 -k 3,5
    awk -v schema=spdnn-model-1 -f "$jobs/table.awk" "${files[@]}"
  fi
  states=$(queued)
  declare -A index_of=()
  while IFS=$'\t' read -r name _; do
    index=$((index + 1))
    index_of[$name]=$index
    [ -e "$SPDNN_RESULTS/$name.json" ] || [ -e "$SPDNN_RESULTS/$name.failed" ] || in_queue "$index" || missing+=("$name")
  done < <(cat "$elements" 2>/dev/null)
  for file in "$SPDNN_RESULTS"/*.failed; do
    name=$(basename "$file" .failed)
    why=$(cat "$file")
    in_queue "${index_of[$name]:-none}" "$(sed -nE 's/.*\(job ([0-9_]+), log .*/\1/p' <<<"$why")" || failed+=("$name: $why")
  done
  [ -z "$states" ] || awk '{ ++count[$3] } END { for (s in count) print "in the queue: " count[s] " " s }' <<<"$states"
  [ ${#failed[@]} -eq 0 ] || printf 'failed: %s\n' "${failed[@]}"
  [ ${#missing[@]} -eq 0 ] || printf 'missing: %s: no result, and not in the queue\n' "${missing[@]}"
  [ $((${#failed[@]} + ${#missing[@]})) -eq 0 ]
}

case ${1:-} in
  infer) submit_infer "${@:2}" ;;
  sweep) submit_sweep "${@:2}" ;;
  table) print_table "${@:2}" ;;
  --help | -h) usage ;;
  *) usage >&2 && exit 2 ;;
esac
