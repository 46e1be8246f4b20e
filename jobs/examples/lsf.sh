#!/usr/bin/env bash
#BSUB -J spdnn
#BSUB -n 8
#BSUB -R "span[ptile=4]"
#BSUB -gpu "num=4"
#BSUB -W 60
#BSUB -o spdnn.%J.log
# A job for LSF: one problem on two nodes, one rank per GPU, continued in further jobs until the result exists. Copy this
# file, edit it, and submit it by `bsub <lsf.sh`.
set -uo pipefail
cd "$LS_SUBCWD" || exit 3
this_file=$LS_SUBCWD/lsf.sh
spdnn=$HOME/spdnn/build/spdnn # the program, visible on all nodes; if installed, PREFIX/bin/spdnn
jobs=$HOME/spdnn/jobs         # PREFIX/share/spdnn/jobs
name=first        # first.json is the result, first.checkpoint the state of a stopped or killed job
seconds=3300      # the ranks are stopped after these: the limit of -W minus the time of a checkpoint
problem=(--generate official --neurons 16384 --layers 1920 --mnist build/data/train-images-idx3-ubyte.gz)
launcher=(mpirun -n 8 --bind-to none) # an Open MPI built for LSF; otherwise mpiexec -n 8
# shellcheck disable=SC2317  # end_part calls it
submit_again() { bsub <"$this_file"; }

# shellcheck source=jobs/again.sh
. "$jobs/again.sh"
code=0
run_part "$name" timeout --foreground --signal=USR1 "$seconds" \
  "${launcher[@]}" "$spdnn" infer "${problem[@]}" --checkpoint-every 15m --max-time "$seconds" || code=$?
end_part "$name" "$code" submit_again
