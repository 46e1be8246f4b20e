#!/usr/bin/env bash
# Makes results/*/tables.md, and pages with charts in build/results/, of the JSON lines of each directory in results/.
# usage: make_results.sh [--check] SPDNN
# --check changes nothing. Its exit status is 1 if a tables.md is not what the lines make.
set -euo pipefail
check=''
[ "$1" != --check ] || { check=yes && shift; }
spdnn=$(realpath "$1")
cd "$(dirname "$0")/../.."
stale=0
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

for directory in results/*/; do
  name=$(basename "$directory")
  options=(--title "spdnn on $name")
  # Where the vendor's library was measured, speed-ups over it, and other systems on such a device.
  ! grep -q '"variant":"cusparse_spmm"' "$directory"*.jsonl ||
    options+=(--baseline cusparse_spmm --baseline results/baselines.csv)
  "$spdnn" report "$directory" "${options[@]}" --out "$made/tables.md"
  if [ -z "$check" ]; then
    cp "$made/tables.md" "$directory"
    mkdir -p build/results
    "$spdnn" report "$directory" "${options[@]}" --out "build/results/$name.html"
  elif ! cmp -s "$made/tables.md" "${directory}tables.md"; then
    echo "${directory}tables.md is not what the lines beside it make; run make results" >&2
    stale=1
  fi
done
exit "$stale"
