#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# Jobs of models: on several nodes, with invalid files, and stopped jobs, which begin again.

setup() {
  load support
  make_site
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out model.onnx
  "$SPDNN" generate tensors --shape 64,1,28,28 --out images.npy
  # The reference takes seconds for some hundred trials, and gives the same bits on any number of ranks.
  model=(--model model.onnx --inputs images.npy --variant conv_reference)
  "$SPDNN" infer "${model[@]}" --logits alone.npy >/dev/null
}

# starts_of NAME: prints the number of starts of this result's job.
starts_of() { cat "$results"/logs/*.log | grep -c "^jobs: $1, job .*, start "; }

# has_started NAME COUNT: whether the job has begun COUNT times.
has_started() { [ "$(starts_of "$1")" -eq "$2" ]; }

@test "a model on two nodes gives the logits of one rank, with Open MPI and with MPICH, and asks for no GPU" {
  find_types
  for type in "${types[@]}"; do
    edit "SPDNN_MPI_TYPE=$type"
    submit infer --name "$type" --nodes 2 --tasks-per-node 2 -- "${model[@]}" --verify all --logits "$type.npy"
    run scontrol show job "$job"
    [[ "$output" != *[gG]pu* ]]
    table
    [ "$status" -eq 0 ]
    cmp alone.npy "$type.npy"
    jq -e '.machine.ranks == 4 and .ranks.images == {min: 16, median: 16, max: 16} and .verdict.status == "PASSED"' \
      "$results/$type.json"
  done
  nothing_is_left
}

@test "the table has models below networks, and spdnn report reads both" {
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 50 --out few.spdnn
  submit infer --name network -- --generate official --neurons 1024 --layers 6 --inputs few.spdnn
  submit infer --name lenet5 --nodes 2 -- "${model[@]}" --verify all
  table
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 4 ]
  [ "$(awk '{ print $1, $2 }' <<<"$output" | xargs)" = "name neurons network 1024 name variant lenet5 conv_reference" ]
  [ "$(awk 'NR == 4 { print $5, $6, $11 }' <<<"$output")" = "2 64 PASSED" ]
  "$SPDNN" report "$results" --out report.md
  row=$(grep '^| model.onnx ' report.md)
  [[ $row == *' PASSED'* && $row == *' conv_reference '* && $row == *' 64 '* ]]
}

@test "a model that cannot be read and one with wrong logits leave their reasons" {
  head -c 1000 model.onnx >bad.onnx
  submit infer --name bad --nodes 2 -- --model bad.onnx --inputs images.npy
  bad=$job
  "$SPDNN" generate tensors --shape 64,10 --out wrong.npy
  submit infer --name wrong --nodes 2 -- "${model[@]}" --expected wrong.npy
  table
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 4 ] # with the row of the wrong one
  [[ "${lines[1]}" == "wrong "*" FAILED "* ]]
  [[ "${lines[2]}" == "failed: bad: exit code 3: spdnn: rank 0 of 2 on "*": bad.onnx: "*"(job $bad, log $results/logs/"*")" ]]
  [[ "${lines[3]}" == "failed: wrong: exit code 1: its verdict is FAILED, against wrong.npy"*"(job $job, log "* ]]
  [ "$(restarts_of "$bad") $(restarts_of "$job")" = "0 0" ]
  [ ! -e "$results/bad.json" ]
}

@test "a model's run that is stopped by a signal, or preempted, is queued again and begins again" {
  submit infer --name stopped --nodes 2 -- "${model[@]}" --trials 600 --logits stopped.npy
  stopped=$job
  submit infer --name preempted --nodes 2 -- "${model[@]}" --trials 600 --logits preempted.npy
  until_it_computes "$stopped"
  until_it_computes "$job"
  scancel --signal=USR1 "$stopped"
  sbatch --partition=urgent --exclusive --nodes=2 --output=/dev/null --wait --wrap 'srun sleep 1'
  [ ! -e stopped.npy ]
  [ ! -e preempted.npy ]
  table
  [ "$status" -eq 0 ]
  grep -q '^jobs: stopped, queued again$' "$results/logs/spdnn-infer-$stopped.log"
  [ "$(starts_of stopped) $(starts_of preempted)" = "2 2" ]
  cmp alone.npy stopped.npy
  cmp alone.npy preempted.npy
  jq -e '.trials == 600' "$results/stopped.json"
  nothing_is_left
}

@test "a model's run that somebody ends, or its time limit, is not queued again" {
  # The notice that the limit is near comes up to 30 s earlier than asked for: the run goes on.
  submit infer --name limited --nodes 2 --time 1 -- "${model[@]}" --trials 1000000 --logits limited.npy
  limited=$job
  submit infer --name ended --nodes 2 -- "${model[@]}" --trials 1000000 --logits ended.npy
  until_it_computes "$job"
  scancel "$job"
  within_limit test -s "$results/ended.failed"
  [[ $(cat "$results/ended.failed") == "stopped from outside; submitted again, it begins anew (job $job, log "* ]]
  submit infer --name ended --nodes 2 -- "${model[@]}" --logits ended.npy
  table
  [ "$status" -eq 1 ]
  [[ "${lines[2]}" == "failed: limited: stopped at the time limit; submitted again, it begins anew (job $limited, log "* ]]
  is_in "$limited" TIMEOUT
  [ "$(restarts_of "$limited")" -eq 0 ]
  [ ! -e limited.npy ]
  cmp alone.npy ended.npy
}

@test "a model's run that is stopped each time gives up" {
  # One that gets the signal to stop before it has begun.
  # shellcheck disable=SC2016  # the site's own
  edit SPDNN_FRUITLESS_REQUEUES=1 'SPDNN_MODULES=(slow)' 'module() { kill $$; }'
  submit infer --name fruitless -- "${model[@]}"
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: fruitless: stopped 3 times without getting further "* ]]
  [ "$(restarts_of "$job")" -eq 2 ]
}
