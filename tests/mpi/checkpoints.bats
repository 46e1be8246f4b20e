#!/usr/bin/env bats
# Runs that write checkpoints and are killed, with OpenMPI and MPICH: a few of what `make hostile` does a hundred times.

load ../support/ranks

@test "kill -9 of ranks, at random and while a checkpoint is written, loses no more than the interval and a layer" {
  for library in openmpi mpich; do
    use_mpi $library
    timeout -k 2 $limit "$BATS_TEST_DIRNAME/../hostile/checkpoints.py" "$SPDNN" --kills 4 --libraries $library --seed "$RANDOM"
  done
}
