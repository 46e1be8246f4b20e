#!/usr/bin/env bash
# Runs a folder's files of command line tests (bats), as many at a time as there are processors, and the unit tests
# (GoogleTest), if given, in as many shares; counts their real results, lists skipped tests with reasons, and closes with the
# line `N passed, N failed, N skipped`. usage: run.sh SPDNN FOLDER [UNIT_TESTS]
set -uo pipefail
SPDNN=$(realpath "$1")
folder=$(realpath "$2")
unit_tests=${3:+$(realpath "$3")}
log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT
jobs=$(nproc)
# Threads that wait should not keep processors from other tests, and times measured for the user's own models should not
# decide which kernels tests run.
export SPDNN folder unit_tests log jobs OMP_WAIT_POLICY=passive SPDNN_CACHE=

# run_part NAME: a share of the unit tests, by its number, or a file of command line tests. Its log is printed at its end.
run_part() {
  case $1 in
    *.bats) bats --tap "$folder/$1" ;;
    *) GTEST_TOTAL_SHARDS=$jobs GTEST_SHARD_INDEX=$1 "$unit_tests" --gtest_brief=0 --gtest_color=no ;;
  esac >"$log/$1" 2>&1
  echo "status $?" >>"$log/$1"
  flock "$log" cat "$log/$1"
}
export -f run_part

mapfile -t parts < <([ -z "$unit_tests" ] || seq 0 $((jobs - 1)); cd "$folder" && printf '%s\n' *.bats)
printf '%s\n' "${parts[@]}" | xargs -P "$jobs" -I{} bash -c 'run_part {}'

# A test that skips for want of MPI fails where MPI is there: what it needs was lost on the way.
mpi=$([ "${MPI:-}" != 0 ] && command -v mpirun >/dev/null && command -v mpicxx >/dev/null && echo 1)
awk -v parts="${#parts[@]}" -v mpi="$mpi" '
  FNR == 1 { before = failed }
  /^\[       OK \]/ { passed++ }
  /^\[  FAILED  \] [^ ]+ \(/ || /^\[  FAILED  \] [^ ]+, where .*\(/ { failed++ }
  /^\[  SKIPPED \] [^ ]+ \(/ { skipped++; reasons[++n] = $4 }
  /^ok .* # skip needs MPI/ && mpi { failed++; print "needs MPI, which is there: " $0; next }
  /^ok .* # skip/ { skipped++; reasons[++n] = $0; next }
  /^ok / { passed++ }
  /^not ok / { failed++ }
  /^status / { ended++; if ($2 != 0 && failed == before) { failed++; print FILENAME " ended with status " $2 } }
  END {
    if (ended != parts) { failed++; print "only " ended " of " parts " parts of the tests ended" }
    for (i = 1; i <= n; i++) print "skipped: " reasons[i]
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
  }' "$log"/*
