#!/usr/bin/env bash
# Starts a Slurm, runs the files of tests beside this one in it, stops it whatever happens, and closes with the line
# `N passed, N failed, N skipped`. Where no Slurm can be had, all is skipped, with the reason; for CI that is an error.
# usage: run.sh SPDNN PACKAGE[=PROOF]...
set -uo pipefail
SPDNN=$(realpath "$1")
shift
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
# Open MPI must not take two nodes of one host for one, whose processes see the same memory.
export SPDNN SLURM_CONF=$scratch/cluster/slurm.conf OMPI_MCA_btl=self,tcp OMPI_MCA_btl_tcp_if_include=lo

skip_all() {
  local tests
  tests=$(cat "$here"/*.bats | grep -c '^@test ')
  printf 'skipped: all tests in Slurm: %s\n0 passed, 0 failed, %d skipped\n' "$1" "$tests"
  [ -z "${CI:-}" ]
  exit
}

[ "$(id -u)" -eq 0 ] || skip_all "root is needed to start munge and Slurm"
"$here/../tools/install_packages.sh" "$@" || skip_all "a package that is needed could not be installed"

finish() {
  "$here/cluster.sh" stop "$scratch/cluster"
  rm -rf "$scratch"
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
"$here/cluster.sh" start "$scratch/cluster" || { echo "0 passed, 1 failed, 0 skipped" && exit 1; }

bats --tap --timing "$here" | tee "$scratch/log"
status=${PIPESTATUS[0]}
awk -v status="$status" '
  /^ok .* # skip/ { skipped++; next }
  /^ok / { passed++ }
  /^not ok / { failed++ }
  END {
    if (status != 0 && !failed) failed = 1
    printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
    exit failed > 0 || passed == 0
  }' "$scratch/log"
