#!/usr/bin/env bash
# Makes tables.md and report.html of the JSON lines of each directory in results/. usage: make_results.sh [--check] SPDNN
# --check changes nothing, and says whether the files are what the lines make: exit status 1 if not.
set -euo pipefail
check=''
[ "$1" != --check ] || { check=yes && shift; }
spdnn=$(realpath "$1")
cd "$(dirname "$0")/../.."
stale=0
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

# The release of the chart library is the machine's own.
without_library() { sed '/<script id="library">/,/<\/script>/d' "$1"; }

for directory in results/*/; do
  name=$(basename "$directory")
  options=(--title "spdnn on $name")
  # Where the vendor's library was measured, speed-ups over it, and other systems on such a device.
  ! grep -q '"variant":"cusparse_spmm"' "$directory"*.jsonl ||
    options+=(--baseline cusparse_spmm --baseline results/baselines.csv)
  for file in tables.md report.html; do
    "$spdnn" report "$directory" "${options[@]}" --out "$made/$file"
    if [ -z "$check" ]; then
      cp "$made/$file" "$directory$file"
    elif ! cmp -s <(without_library "$made/$file") <(without_library "$directory$file"); then
      echo "$directory$file is not what the lines beside it make; run make results" >&2
      stale=1
    fi
  done
done
exit "$stale"
