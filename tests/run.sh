#!/usr/bin/env bash
# Runs the unit tests (GoogleTest) and the command line tests (bats), counts their real results, says what was skipped
# and why, and closes with the line `N passed, N failed, N skipped`. usage: run.sh UNIT_TESTS SPDNN
set -uo pipefail
unit_tests=$1
SPDNN=$(realpath "$2")
export SPDNN
here=$(cd "$(dirname "$0")" && pwd)
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

"$unit_tests" --gtest_brief=0 --gtest_color=no >"$log/unit" 2>&1
unit_status=$?
cat "$log/unit"
bats --tap "$here/cli" >"$log/cli" 2>&1
cli_status=$?
cat "$log/cli"

awk -v unit_status="$unit_status" -v cli_status="$cli_status" '
  FILENAME ~ /unit$/ {
    if (/^\[       OK \]/) passed++
    else if (/^\[  FAILED  \] [^ ]+ \(/ || /^\[  FAILED  \] [^ ]+, where .*\(/) { failed++; unit_failed++ }
    else if (/^\[  SKIPPED \] [^ ]+ \(/) { skipped++; reasons[++n] = $4 }
    else if (/[Ss]kipped: /) { why = $0 }
    next
  }
  /^ok .* # skip/ { skipped++; reasons[++n] = $0; next }
  /^ok / { passed++ }
  /^not ok / { failed++; cli_failed++ }
  END {
    if (unit_status != 0 && !unit_failed) { failed++; print "the unit tests ended with status " unit_status }
    if (cli_status != 0 && !cli_failed) { failed++; print "bats ended with status " cli_status }
    for (i = 1; i <= n; i++) print "skipped: " reasons[i]
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
  }' "$log/unit" "$log/cli"
