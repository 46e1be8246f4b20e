#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# Jobs that get the signal to stop: they write a checkpoint, queue themselves again where nobody has ended them, and go on.

setup() {
  load support
  make_site
  make_problem
}

# went_on NAME STARTS: whether the job has begun STARTS times, has the right result at last, and left nothing over.
went_on() {
  table
  [ "$status" -eq 0 ]
  [ "$(cat "$results"/logs/*.log | grep -c "^jobs: $1, job .*, start ")" -eq "$2" ]
  jq -e '.verdict.status == "PASSED" and .verdict.missing == 0 and .parts == '"$2" "$results/$1.json"
  nothing_is_left
}

@test "ranks on two nodes that get USR1 write a checkpoint; the job queues itself again and goes on" {
  submit infer --name stopped --nodes 2 -- "${problem[@]}"
  stopped=$job
  submit infer --name requeued -- "${problem[@]}"
  until_it_computes "$stopped"
  scancel --signal=USR1 "$stopped"
  until_it_computes "$job"
  # Slurm itself queues this one again.
  scontrol requeue "$job"
  until_requeued "$stopped"
  within_limit test -s "$results/requeued.checkpoint"
  grep -q '^jobs: stopped at a checkpoint, queued again$' "$results/logs/spdnn-infer-$stopped.log"
  went_on stopped 2
  went_on requeued 2
}

@test "an element of a sweep that gets USR1 queues itself again, and no others" {
  edit SPDNN_IMAGES=2000
  submit sweep --configs 1024x3,1024x4,1024x239 --variants cpu_reference -- --reduce none --verify 1
  # The last element of an array shares its number with the array.
  until_it_computes "${job}_3"
  scancel --batch --signal=USR1 "${job}_3"
  until_requeued "${job}_3"
  table
  [ "$status" -eq 0 ]
  [ "$(restarts_of "${job}_1") $(restarts_of "${job}_2") $(restarts_of "${job}_3")" = "0 0 1" ]
}

@test "a job that somebody ends stops at a checkpoint; a new one goes on, on another number of ranks" {
  submit infer --name ended --nodes 2 -- "${problem[@]}"
  until_it_computes "$job"
  scancel "$job"
  within_limit test -s "$results/ended.failed"
  within_limit is_in "$job" CANCELLED
  [ -s "$results/ended.checkpoint" ]
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: ended: stopped from outside; "* ]]
  edit SPDNN_GPUS=0
  submit infer --name ended --tasks-per-node 3 -- "${problem[@]}"
  went_on ended 2
  [ "$(jq .machine.ranks "$results/ended.json")" -eq 3 ]
}

@test "a job that is preempted stops at a checkpoint, makes room, and goes on" {
  submit infer --name preempted --nodes 2 -- "${problem[@]}"
  until_it_computes "$job"
  sbatch --partition=urgent --exclusive --nodes=2 --output=/dev/null --wait --wrap 'srun sleep 1'
  [ "$(restarts_of "$job")" -eq 1 ]
  went_on preempted 2
}

@test "a job that nears its time limit queues itself again" {
  # Slurm looks for limits that are near every 30 s, so that the signal comes up to 30 s earlier: half a minute after the start,
  # or later.
  edit SPDNN_TIME_LIMIT=2 SPDNN_SECONDS_TO_STOP=60
  long=("${problem[@]/240/2400}")
  submit infer --name limited --nodes 2 -- "${long[@]}"
  until_requeued "$job"
  grep -q '^jobs: stopped at a checkpoint, queued again$' "$results"/logs/*.log
  scancel "$job"
  # A fast engine does the rest, in the same precision, in all the time that it needs.
  submit infer --name limited --time 10 -- "${long[@]/cpu_reference/cpu_openmp}" --precision fp64
  went_on limited 2
}

@test "a job that makes no progress gives up" {
  # One that gets the signal to stop before it has begun, each time.
  # shellcheck disable=SC2016  # the site's own
  edit SPDNN_FRUITLESS_REQUEUES=0 'SPDNN_MODULES=(slow)' 'module() { kill -USR1 $$; }'
  submit infer --name fruitless -- "${problem[@]}"
  table
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "failed: fruitless: stopped 2 times without getting further "* ]]
  [ "$(restarts_of "$job")" -eq 1 ]
}
