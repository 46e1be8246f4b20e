#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# Sweeps: arrays of elements, what is skipped, and what the table says in the end.

setup() {
  load support
  make_site
}

@test "a sweep writes a line for each element, and is not run again" {
  submit sweep --configs 1024x3,1024x4 --variants auto,cpu_reference
  table
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 5 ]
  [ "$(cut -f1 "$results/sweep.list" | xargs)" = "1024x3-auto-digits100 1024x3-cpu_reference-digits100 1024x4-auto-digits100 1024x4-cpu_reference-digits100" ]
  jq -es 'length == 1 and .[0].problem.layers == 4 and .[0].variant == "cpu_reference"' "$results/1024x4-cpu_reference-digits100.json"
  run jobs/submit.sh sweep --configs 1024x3,1024x4 --variants auto,cpu_reference
  [ "$output" = "4 elements: 4 in the results, 0 in the queue" ]
  # Of another commit, of another program, and lost: these run again, under the index that they had.
  sed -i 's/"commit":"[^"]*"/"commit":"0123456789ab"/' "$results/1024x3-auto-digits100.json"
  rm "$results/1024x4-auto-digits100.json"
  run jobs/submit.sh sweep --configs 1024x3,1024x4 --variants auto,cpu_reference --at-once 1 --dry-run
  echo "$output"
  [[ "$output" == *" --array=1,3%1 "* ]]
  [ -z "$(squeue --noheader --name=spdnn-sweep)" ]
}

@test "an element that has its result by the time it starts is not run" {
  edit 'SPDNN_SBATCH_OPTIONS=(--hold)'
  submit sweep --configs 1024x3,1024x4
  run jobs/submit.sh table
  [[ "$output" == *"in the queue: 2 PENDING"* ]]
  run jobs/submit.sh sweep --configs 1024x3,1024x4
  [ "$output" = "2 elements: 0 in the results, 2 in the queue" ]
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 10 --out few.spdnn
  "$SPDNN" infer --generate official --neurons 1024 --layers 3 --inputs few.spdnn --json "$results/1024x3-auto-digits100.json"
  scontrol release "$job"
  table
  [ "$status" -eq 0 ]
  jq -e '.problem.images == 10' "$results/1024x3-auto-digits100.json"
  jq -e '.problem.images == 100' "$results/1024x4-auto-digits100.json"
}

@test "a program that is gone by the time a job starts is a failure that the table lists" {
  edit 'SPDNN_SBATCH_OPTIONS=(--hold)'
  submit sweep --configs 1024x3
  rm build/spdnn
  scontrol release "$job"
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: 1024x3-auto-digits100: exit code 3: jobs/sweep.sbatch: "*"SPDNN_PROGRAM"* ]]
}

@test "elements that failed or never ran are listed at the end" {
  submit sweep --configs 1024x3 --variants auto,no_such_engine
  first=$job
  edit 'SPDNN_SBATCH_OPTIONS=(--hold)'
  submit sweep --configs 1024x4
  scancel "$job"
  table
  [ "$status" -eq 1 ]
  [[ "${lines[2]}" == "failed: 1024x3-no_such_engine-digits100: exit code 2: spdnn: "*"no_such_engine"*"(job ${first}_2, log $results/logs/"*")" ]]
  [ "${lines[3]}" = "missing: 1024x4-auto-digits100: no result, and not in the queue" ]
  [ "$(state_of "${first}_2")" = FAILED ]
  [ "$(restarts_of "${first}_2")" -eq 0 ]
  # A sweep asked for again runs these alone.
  edit 'SPDNN_SBATCH_OPTIONS=()'
  run jobs/submit.sh sweep --configs 1024x3,1024x4 --variants auto,no_such_engine --dry-run
  [[ "$output" == *"--array=2,3,4 "* ]]
}

@test "an element beyond the largest array index runs as one of an array of its own" {
  # Slurm's indices end at 1000 here.
  mkdir -p "$results"
  printf '%s\t1024\t3\tauto\n' 1024x3-auto-{1..999} >"$results/sweep.list"
  submit sweep --configs 1024x3,1024x4
  table
  [ "$status" -eq 1 ] # as all the others are missing
  for layers in 3 4; do jq -e ".problem.layers == $layers" "$results/1024x$layers-auto-digits100.json"; done
  [ "$(sed -n 1000,1001p "$results/sweep.list" | cut -f 1 | xargs)" = "1024x3-auto-digits100 1024x4-auto-digits100" ]
  [[ "$output" != *"missing: 1024x4-auto-digits100"* ]]
}
