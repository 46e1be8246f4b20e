#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# Jobs of one problem: nodes, ranks, kinds of srun, and crashes.

setup() {
  load support
  make_site
}

infer() {
  submit infer "$@" -- --generate official --neurons 1024 --layers 6 --inputs few.spdnn --verify all
}
few_images() { "$SPDNN" generate inputs --family digits --neurons 1024 --images 50 --out few.spdnn; }

@test "one problem runs on one node and on two, with GPUs asked for" {
  few_images
  infer --name one
  infer --name two --nodes 2 --tasks-per-node 2
  scontrol show job "$job" | grep 'TresPerTask=gres:gpu:1'
  table
  [ "$status" -eq 0 ]
  [ "$(jq -c '[.machine.ranks, .verdict.status]' "$results/one.json")" = '[1,"PASSED"]' ]
  [ "$(jq -c '[.machine.ranks, .verdict.status]' "$results/two.json")" = '[4,"PASSED"]' ]
}

@test "no GPU is asked for where a site has none" {
  few_images
  edit SPDNN_GPUS=0
  infer
  run scontrol show job "$job"
  [[ "$output" != *[gG]pu* ]]
  table
  [ "$status" -eq 0 ]
  [ -s "$results/infer-$job.json" ]
}

@test "ranks find one another by srun --mpi=pmix with Open MPI and by --mpi=pmi2 with MPICH" {
  few_images
  find_types
  for type in "${types[@]}"; do
    edit "SPDNN_MPI_TYPE=$type"
    infer --name "$type" --nodes 2 --tasks-per-node 2
    table
    [ "$status" -eq 0 ]
    [ "$(jq .machine.ranks "$results/$type.json")" -eq 4 ]
  done
}

@test "ranks that cannot find one another are refused, and the job is not queued again" {
  few_images
  edit SPDNN_MPI_TYPE=none
  infer --name lost --nodes 2
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: lost: exit code 4: spdnn: "*"--mpi=pmix"* ]]
  is_in "$job" FAILED
  [ "$(restarts_of "$job")" -eq 0 ]
  [ ! -e "$results/lost.json" ]
}

@test "a rank that is killed ends its job, which is not queued again" {
  make_problem
  submit infer --name killed --nodes 2 -- "${problem[@]}"
  until_it_computes "$job"
  scancel --signal=KILL "$job.0"
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: killed: exit code "* ]]
  is_in "$job" FAILED
  [ "$(restarts_of "$job")" -eq 0 ]
}
