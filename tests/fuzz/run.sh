#!/usr/bin/env bash
# Runs fuzzers in parallel, one on each processor, and prints for each how much it executed and covered and what it found.
# Fails where there is a finding. A fuzzer that ended in a finding is started again until its time is over.
# usage: run.sh DIRECTORY SECONDS FUZZER...      FUZZ_RUNS=N: at most N executions each, which is repeatable
set -euo pipefail

readonly directory=$1 seconds=$2
shift 2
corpus_of=$(dirname "$0")/corpus
readonly corpus_of most_findings=10
processors=$(nproc)
readonly share=$((seconds * processors / $# > 0 ? seconds * processors / $# : 1))
# Files are kept in memory where the system has a directory for that.
TMPDIR=$(mktemp -d -p "$([[ -w /dev/shm ]] && echo /dev/shm || echo /tmp)")
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
# A quarantine of freed memory would count as memory in use.
export ASAN_OPTIONS=quarantine_size_mb=8:malloc_context_size=2 UBSAN_OPTIONS=print_stacktrace=1 OMP_WAIT_POLICY=passive

# fuzz NAME: runs it for its share of the time.
fuzz() {
  local found=$directory/found/$1 log=$directory/logs/$1.log artifacts=$directory/findings/$1
  local end=$((SECONDS + share)) limit=(-max_total_time="$share") before
  # This avoids the processes of the symbolizer, and the cost of features in which many small inputs differ.
  local fast=(-print_funcs=0 -entropic=0 -use_counters=0)
  mkdir -p "$found" "$artifacts" "$(dirname "$log")"
  : >"$log"
  while :; do
    [[ -z ${FUZZ_RUNS-} ]] || limit=(-runs="$FUZZ_RUNS" -max_total_time="$share" -seed=1)
    before=$(findings "$1")
    if "$directory/$1_fuzzer" "${limit[@]}" "${fast[@]}" -timeout=10 -rss_limit_mb=1500 -malloc_limit_mb=300 \
      -print_final_stats=1 -artifact_prefix="$artifacts/" "$found" "$corpus_of/$1" >>"$log" 2>&1; then break; fi
    # A fuzzer that fails without an input to blame did not run as it should, which is a finding, too.
    [[ $(findings "$1") -gt $before ]] || { cp "$log" "$artifacts/failed.log"; break; }
    [[ -z ${FUZZ_RUNS-} && $(findings "$1") -lt $most_findings && $SECONDS -lt $end ]] || break
    limit=(-max_total_time=$((end - SECONDS)))
  done
}
findings() { find "$directory/findings/$1" -type f | wc -l; }

# row NAME: its line of the table.
row() {
  local log=$directory/logs/$1.log
  awk -v name="$1" -v findings="$(findings "$1")" '
    /^stat::number_of_executed_units:/ { executed += $2 }
    / cov: / { for (i = 1; i < NF; ++i) { if ($i == "cov:" && $(i + 1) > edges) edges = $(i + 1) } }
    END { printf "%-16s %14d %8d %9d\n", name, executed, edges, findings }' "$log"
}

rm -rf "$directory/findings"
for name in "$@"; do
  while [[ $(jobs -rp | wc -l) -ge $processors ]]; do wait -n || true; done
  fuzz "$name" &
done
wait

printf '%-16s %14s %8s %9s\n' fuzzer executions edges findings
for name in "$@"; do row "$name"; done | tee "$directory/table.txt"
awk '{ executed += $2; found += $4 } END { printf "%-16s %14d %8s %9d\n", "total", executed, "", found }' "$directory/table.txt"
found=$(find "$directory/findings" -type f)
[[ -z $found ]] || { printf "found:\n%s\n" "$found" >&2; exit 1; }
