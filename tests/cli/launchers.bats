#!/usr/bin/env bats
# The program under launchers' environments, without any MPI library: a plug-in of the tests is its double.

load ../support/ranks

# fake_mpi FILE FLAGS...: compiles the plug-in.
fake_mpi() {
  local root
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  "${CXX:-c++}" -std=c++20 -shared -fPIC "${@:2}" -I"$root/src" -o "$1" "$root/tests/support/fake_mpi.cpp"
}

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  mkdir with without
  cp "$(realpath "$SPDNN")" with/spdnn
  cp "$(realpath "$SPDNN")" without/spdnn
  fake_mpi with/spdnn-mpich.so
  cp with/spdnn-mpich.so with/spdnn-openmpi.so
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return 1
  infer=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never)
}

places=("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2" "PMIX_RANK=1 SLURM_STEP_NUM_TASKS=2" "PMI_RANK=1 PMI_SIZE=2"
  "MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=2" "MVP_COMM_WORLD_RANK=1 MVP_COMM_WORLD_SIZE=2"
  "PALS_RANKID=1 SLURM_STEP_NUM_TASKS=2" "PALS_RANKID=1 FLUX_JOB_SIZE=2")

@test "one of two ranks that finds itself alone does not run the whole problem" {
  for place in "${places[@]}"; do
    # shellcheck disable=SC2086
    ends 4 env $place with/spdnn "${infer[@]}" --categories ranks.tsv
    case $place in
      *SLURM*) said='srun started 2 processes that cannot find one another; expected srun --mpi=pmix *' ;;
      *) said='the environment says that this is one of 2 ranks, but no launcher answers a fake MPI library, for which *' ;;
    esac
    says_once "spdnn: rank 1 of 2 on $(hostname): $said"
    [ ! -e ranks.tsv ]
  done
}

@test "one rank of a job whose size only MPI knows, or that has one, runs" {
  for place in PALS_RANKID=0 PMIX_RANK=0 "PMI_RANK=0 PMI_SIZE=1" "FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1"; do
    # shellcheck disable=SC2086
    ends 0 env $place with/spdnn "${infer[@]}" --categories ranks.tsv
    [ -s ranks.tsv ]
    rm ranks.tsv
  done
}

@test "the plug-in of a machine with one MPI library serves any launcher" {
  mkdir single
  cp with/spdnn single/spdnn
  cp with/spdnn-mpich.so single/spdnn-mpi.so
  for place in PALS_RANKID=0 PMIX_RANK=0; do
    ends 0 env $place single/spdnn "${infer[@]}" --categories ranks.tsv
    [ -s ranks.tsv ]
    rm ranks.tsv
  done
}

@test "a launcher of MPICH is served by the plug-in for its name on Debian where the other finds no library" {
  mkdir debian
  cp with/spdnn debian/spdnn
  cp with/spdnn-mpich.so debian/spdnn-mpich-debian.so
  echo 'no shared object' >debian/spdnn-mpich.so
  ends 0 env PALS_RANKID=0 debian/spdnn "${infer[@]}" --categories ranks.tsv
  [ -s ranks.tsv ]
  rm ranks.tsv debian/spdnn-mpich-debian.so
  ends 4 env PALS_RANKID=0 debian/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 0 on *: a launcher started *spdnn-mpich.so: *'
}

@test "processes that srun or flux run starts without PMI are no run of one rank" {
  ends 4 env SLURM_PROCID=3 SLURM_STEP_NUM_TASKS=5 without/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 3 of 5 on *: srun started 5 processes that cannot find one another; expected srun --mpi=pmix *'
  ends 4 env FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4 with/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 2 of 4 on *: flux run started 4 processes that cannot find one another; expected -o pmi=pmix *'
  [ ! -e ranks.tsv ]
}

@test "a rank that another does not answer ends with exit code 4 and MPI's own words" {
  mkdir two
  cp with/spdnn two/spdnn
  fake_mpi two/spdnn-mpi.so -DFAKE_RANKS=2
  ends 4 env PALS_RANKID=0 two/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 0 of 2 on *: MPI: another rank does not answer: error 1'
  [ ! -e ranks.tsv ]
}

@test "a library that ends the program is reported with exit code 4, and as MPI's where MPI was starting" {
  mkdir ending
  cp with/spdnn ending/spdnn
  fake_mpi ending/spdnn-mpi.so '-DFAKE_EXIT="start"'
  ends 4 env PALS_RANKID=0 ending/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 0 on *: MPI ended the program during start-up: *'
  fake_mpi ending/spdnn-mpi.so '-DFAKE_EXIT="gather_size"' -DFAKE_RANKS=2
  ends 4 env PALS_RANKID=0 ending/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 0 of 2 on *: a library ended the program: *'
  [ ! -e ranks.tsv ]
}

# start_rank: the only rank of a job computes in the process `worker`, for a guard, which is `guard`.
start_rank() {
  worker=
  env --default-signal PALS_RANKID=0 with/spdnn "${infer[@]}" --trials 1000000 2>stderr >stdout 3>&- &
  guard=$!
  until worker=$(pgrep -P "$guard"); do kill -0 "$guard" || return 1; sleep 0.05; done
}

ended() { [ ! -e "/proc/$1" ] || grep -q '^State:.Z' "/proc/$1/status"; }

@test "signals to a rank reach the process that works for it, and the rank ends by the same one" {
  for signal in TERM INT HUP USR1 USR2; do
    start_rank
    status=0
    kill -s $signal "$guard"
    wait "$guard" || status=$?
    echo "$signal: $status" && cat stderr
    [ "$status" -eq $((128 + $(kill -l $signal))) ]
    ended "$worker"
    [ ! -s stderr ]
  done
}

@test "a rank whose process crashes or is killed says so, and none works without its guard" {
  ulimit -c 0
  for signal in "KILL Killed (for lack of memory, or by a user)" 'SEGV Segmentation fault'; do
    start_rank
    status=0
    kill -s "${signal%% *}" "$worker"
    wait "$guard" || status=$?
    [ "$status" -eq 4 ]
    says_once "spdnn: rank 0 on *: ended by signal: ${signal#* }"
  done
  start_rank
  kill -9 "$guard"
  for ((i = 0; i < 20 * limit; i++)); do ended "$worker" && return; sleep 0.05; done
  return 1
}

teardown() { # of a test that failed
  local process
  for process in ${guard:-} ${worker:-}; do kill -9 "$process" 2>/dev/null || true; done
}

@test "under a launcher, too, the exit code is the program's own" {
  printf '1\t1\tx\n' >bad.tsv
  export PMI_RANK=0 PMI_SIZE=2
  ends 0 without/spdnn --version
  ends 2 without/spdnn "${infer[@]}" --trials 0
  ends 4 without/spdnn "${infer[@]}"
  says_once 'spdnn: rank 0 of 2 on *: a launcher started this program as one of several ranks, but MPI cannot be used*'
  unset PMI_SIZE
  : >none.tsv
  ends 1 with/spdnn "${infer[@]}" --truth none.tsv
  ends 3 with/spdnn "${infer[@]/i.spdnn/bad.tsv}"
}
