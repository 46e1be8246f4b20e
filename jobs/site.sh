# shellcheck shell=bash disable=SC2034
# The site's settings: resources of jobs, and paths. A site edits this file alone. jobs/submit.sh reads it on submission,
# jobs when they begin. It is bash: SPDNN_X=value without blanks around =, quotes around blanks. Do not edit the copy of an
# installed program: PREFIX/etc/spdnn/site.sh (/etc/spdnn/site.sh if PREFIX is /usr) overrides it for the site,
# ~/.config/spdnn/site.sh or SPDNN_SITE=FILE for a user. They need only the lines that differ. $SPDNN_ROOT is the
# repository, or PREFIX.

# Resources requested from Slurm. An empty value means Slurm's default.
SPDNN_PARTITION=                # sbatch --partition
SPDNN_ACCOUNT=                  # sbatch --account
SPDNN_QOS=                      # sbatch --qos
SPDNN_TIME_LIMIT=60             # sbatch --time: minutes, or hours:minutes:seconds
SPDNN_CPUS_PER_TASK=4           # processors of each rank
SPDNN_GPUS=1                    # GPUs of each rank; 0: run on CPUs
SPDNN_GPU_REQUEST=              # the option that requests GPUs, such as --gres=gpu:a100:4; empty: --gpus-per-task=$SPDNN_GPUS
SPDNN_SBATCH_OPTIONS=()         # other options, such as (--constraint=h200 --mem=64G --exclusive)

# srun --mpi=, the interface between launcher and ranks. Empty: the first type of `srun --mpi=list` that the program's MPI
# library supports: pmix for Open MPI, pmi2 for MPICH and libraries with its ABI, cray_shasta for Cray MPICH.
SPDNN_MPI_TYPE=

# Binding: srun --cpu-bind= and --gpu-bind=. `cores` gives each rank its own cores and suits every site; the program pins
# one thread to each. Empty: Slurm's default, which for GPUs depends on the option that requests them.
SPDNN_CPU_BIND=cores
SPDNN_GPU_BIND=

# Modules to load before the program runs, such as (gcc/12 cuda/13.0 openmpi/4.1).
SPDNN_MODULES=()

# Paths, which must be the same on all nodes. $SPDNN_FILES is build/ of the repository; for an installed program, ~/spdnn.
SPDNN_PROGRAM=$SPDNN_BIN/spdnn
SPDNN_DATA=$SPDNN_FILES/data         # images made for sweeps; gigabytes at 65536 neurons
SPDNN_RESULTS=$SPDNN_FILES/cluster   # results, checkpoints and logs

# The images of sweeps: the official ones, made from MNIST's training images (data_scripts/fetch_mnist.sh fetches them).
# Empty: SPDNN_IMAGES synthetic digits; the categories of a sample are compared with the reference.
SPDNN_MNIST=
SPDNN_IMAGES=60000

# The interval between checkpoints: 30s, 15m, 4h, or never. A killed run, for instance by a failed node, loses at most the
# work since the last one.
SPDNN_CHECKPOINT_EVERY=15m
# Seconds before the time limit at which Slurm signals a job to write a checkpoint and requeue itself. They must suffice
# for the longest uninterruptible stretch (a thirtieth of the layers; for cascade a whole batch) and for writing the
# checkpoint. Ranks that have measured longer times stop earlier by their own clock.
SPDNN_SECONDS_TO_STOP=120
# The number of consecutive requeues without progress after which a job gives up.
SPDNN_FRUITLESS_REQUEUES=2
