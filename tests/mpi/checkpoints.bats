#!/usr/bin/env bats
# Runs that write checkpoints and are killed, with OpenMPI and MPICH: a few of the kills of which `make hostile` has a hundred.

load ../support/ranks

@test "runs that were killed by kill -9, at random and while a checkpoint is written, go on to the same categories" {
  for library in openmpi mpich; do
    use_mpi $library
    timeout -k 2 $((4 * limit)) "$BATS_TEST_DIRNAME/../hostile/checkpoints.py" "$SPDNN" --kills 4 --libraries $library --seed "$RANDOM"
  done
}
