#!/usr/bin/env bash
#PBS -N spdnn
#PBS -l select=2:ncpus=64:mpiprocs=4:ngpus=4
#PBS -l walltime=01:00:00
#PBS -j oe
# A job for PBS: one problem on two nodes, one rank per GPU, continued in further jobs until the result exists. Copy this
# file, edit it, and submit it by `qsub pbs.sh`.
set -uo pipefail
cd "$PBS_O_WORKDIR" || exit 3
this_file=$PBS_O_WORKDIR/pbs.sh
spdnn=$HOME/spdnn/build/spdnn # the program, visible on all nodes; if installed, PREFIX/bin/spdnn
jobs=$HOME/spdnn/jobs         # PREFIX/share/spdnn/jobs
name=first        # first.json is the result, first.checkpoint the state of a stopped or killed job
seconds=3300      # the ranks are stopped after these: the walltime minus the time of a checkpoint
problem=(--generate official --neurons 16384 --layers 1920 --mnist build/data/train-images-idx3-ubyte.gz)
launcher=(mpirun -n 8 --hostfile "$PBS_NODEFILE" --bind-to none) # Open MPI's; otherwise mpiexec -n 8
# shellcheck disable=SC2317  # end_part calls it
submit_again() { qsub "$this_file"; }

# shellcheck source=jobs/again.sh
. "$jobs/again.sh"
code=0
run_part "$name" timeout --foreground --signal=USR1 "$seconds" \
  "${launcher[@]}" "$spdnn" infer "${problem[@]}" --checkpoint-every 15m --max-time "$seconds" || code=$?
end_part "$name" "$code" submit_again
