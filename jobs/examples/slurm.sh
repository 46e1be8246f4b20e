#!/usr/bin/env bash
#SBATCH --job-name=spdnn
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gpus-per-task=1
#SBATCH --cpus-per-task=16
#SBATCH --time=60
#SBATCH --signal=B:USR1@300
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
# A job of one's own for Slurm, without jobs/submit.sh: one problem, which continues in the same job, queued again, until the
# result is there. Copy this file, edit it, and submit it by `sbatch slurm.sh`. Signals come 300 s before the time is up.
set -uo pipefail
spdnn=$HOME/spdnn/build/spdnn # the program, which all nodes must see; where it is installed, PREFIX/bin/spdnn
jobs=$HOME/spdnn/jobs         # PREFIX/share/spdnn/jobs
name=first        # first.json is to be the result, first.checkpoint what a job leaves that is stopped or killed
seconds=3500      # after so many the ranks stop by their own clock, if no signal came: the limit of --time, less some
problem=(--generate official --neurons 16384 --layers 1920 --mnist build/data/train-images-idx3-ubyte.gz)
# A step does not have the job's --cpus-per-task unless it asks for it.
launcher=(srun --kill-on-bad-exit=1 --mpi=pmix --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores)
# shellcheck disable=SC2317  # end_part calls it
submit_again() { scontrol requeue "$SLURM_JOB_ID"; }

# shellcheck source=jobs/again.sh
. "$jobs/again.sh"
code=0
run_part "$name" "${launcher[@]}" "$spdnn" infer "${problem[@]}" --checkpoint-every 15m --max-time "$seconds" || code=$?
end_part "$name" "$code" submit_again
