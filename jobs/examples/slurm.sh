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
# A job for Slurm without jobs/submit.sh: one problem, continued in the same job, which is requeued until the result exists.
# Copy this file, edit it, and submit it by `sbatch slurm.sh`. Signals come 300 s before the time limit.
set -uo pipefail
spdnn=$HOME/spdnn/build/spdnn # the program, visible on all nodes; if installed, PREFIX/bin/spdnn
jobs=$HOME/spdnn/jobs         # PREFIX/share/spdnn/jobs
name=first        # first.json is the result, first.checkpoint the state of a stopped or killed job
seconds=3500      # without a signal, the ranks stop after these by their own clock: a little less than --time
problem=(--generate official --neurons 16384 --layers 1920 --mnist build/data/train-images-idx3-ubyte.gz)
export SLURM_PMIX_FENCE=ring # without it, Open MPI's ranks rarely crash as they start; see jobs/run.sh
# srun does not inherit the job's --cpus-per-task.
launcher=(srun --kill-on-bad-exit=1 --mpi=pmix --cpus-per-task="$SLURM_CPUS_PER_TASK" --cpu-bind=cores)
# shellcheck disable=SC2317  # end_part calls it
submit_again() { scontrol requeue "$SLURM_JOB_ID"; }

# shellcheck source=jobs/again.sh
. "$jobs/again.sh"
code=0
run_part "$name" "${launcher[@]}" "$spdnn" infer "${problem[@]}" --checkpoint-every 15m --max-time "$seconds" || code=$?
end_part "$name" "$code" submit_again
