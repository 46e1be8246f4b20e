# shellcheck shell=bash disable=SC2034
# What a site edits, and nothing else: how jobs are asked for here, and where things are. jobs/submit.sh reads this file
# when it submits, jobs read it when they begin. It is bash: SPDNN_X=value without blanks around =, quotes around blanks.
# Of an installed program, leave this file alone: PREFIX/etc/spdnn/site.sh (/etc/spdnn/site.sh where PREFIX is /usr) is the
# site's, ~/.config/spdnn/site.sh, or SPDNN_SITE=FILE, a user's. They need only have the lines that differ.
# $SPDNN_ROOT is the repository, or PREFIX.

# What is asked of Slurm. An empty value leaves the choice to Slurm's own defaults.
SPDNN_PARTITION=                # sbatch --partition
SPDNN_ACCOUNT=                  # sbatch --account
SPDNN_QOS=                      # sbatch --qos
SPDNN_TIME_LIMIT=60             # sbatch --time: minutes, or hours:minutes:seconds
SPDNN_CPUS_PER_TASK=4           # processors of each rank
SPDNN_GPUS=1                    # GPUs of each rank; 0: no GPU is asked for, the run is one on CPUs
SPDNN_GPU_REQUEST=              # how GPUs are asked for, such as --gres=gpu:a100:4; empty: --gpus-per-task=$SPDNN_GPUS
SPDNN_SBATCH_OPTIONS=()         # anything else, such as (--constraint=h200 --mem=64G --exclusive)

# How ranks are started: srun --mpi=. Empty: the one that fits the MPI library of the program, of those that
# `srun --mpi=list` shows. Open MPI speaks pmix, MPICH and its kin speak pmi2, Cray MPICH speaks cray_shasta.
SPDNN_MPI_TYPE=

# Where ranks run on their nodes: srun --cpu-bind= and --gpu-bind=. Each rank on cores of its own is sound everywhere; its
# threads are pinned to these one by one. Empty: Slurm's own choice, which for GPUs follows how they are asked for.
SPDNN_CPU_BIND=cores
SPDNN_GPU_BIND=

# What is loaded before the program is run, such as (gcc/12 cuda/13.0 openmpi/4.1).
SPDNN_MODULES=()

# Where things are. All nodes must see them under the same names. $SPDNN_FILES is build/ of the repository, or, of an
# installed program, ~/spdnn.
SPDNN_PROGRAM=$SPDNN_BIN/spdnn
SPDNN_DATA=$SPDNN_FILES/data         # images made for sweeps; gigabytes at 65536 neurons
SPDNN_RESULTS=$SPDNN_FILES/cluster   # results, checkpoints and logs

# The images of sweeps: the official ones, made of MNIST's training images (data_scripts/fetch_mnist.sh fetches them).
# Empty: so many synthetic digits, whose categories are compared with the reference on a sample.
SPDNN_MNIST=
SPDNN_IMAGES=60000

# Being killed, as by a node that fails, costs at most the work since the last checkpoint. One is written every so often:
# 30s, 15m, 4h, or never.
SPDNN_CHECKPOINT_EVERY=15m
# Being stopped. So many seconds before its time limit a job is told to write a checkpoint and queues itself again; the
# longest of these must fit in, and the writing of the checkpoint: a thirtieth of the layers; for cascade a whole batch.
# Where the ranks have seen that it takes longer, they stop earlier by their own clock.
SPDNN_SECONDS_TO_STOP=120
# A job that has queued itself again so often, each time without getting further, gives up.
SPDNN_FRUITLESS_REQUEUES=2
