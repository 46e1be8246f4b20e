#!/usr/bin/env bats
# What the program makes of a launcher's environment, without any MPI library: a plug-in of the tests' own stands for it.

load ../support/ranks

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  mkdir with without
  cp "$(realpath "$SPDNN")" with/spdnn
  cp "$(realpath "$SPDNN")" without/spdnn
  "${CXX:-c++}" -std=c++20 -shared -fPIC -I"$root/src" -o with/spdnn-mpich.so "$root/tests/support/fake_mpi.cpp"
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
    says_once 'spdnn: rank 1 of 2 on *: *2 *'
    grep -q -e 'but no launcher answers' -e 'srun started 2 processes that cannot find one another' stderr
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

@test "processes that flux run starts without PMI are no run of one rank" {
  ends 4 env FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4 with/spdnn "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 2 of 4 on *: flux run started 4 processes that cannot find one another; expected -o pmi=pmix *'
  [ ! -e ranks.tsv ]
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
