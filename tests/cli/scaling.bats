#!/usr/bin/env bats
# spdnn bench scaling: with a launcher of the tests' own, which starts one process, whatever it is asked for.

load ../support/within

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  printf '#!/bin/sh\nshift\necho "$*" >>launched\nexec "$@"\n' >launch
  chmod +x launch
  bare=("$SPDNN" bench scaling --images 100 --layers 4 --trials 1 --device cpu)
  scaling=("${bare[@]}" --launcher "./launch {ranks}")
}

@test "a table and a JSON line per point, and no file is left" {
  run "${scaling[@]}" --ranks 1 --json points.jsonl
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" == *ranks*images*infer*efficiency* ]]
  [[ "${lines[1]}" == *"1       100"*"100.0 %"* ]]
  jq -e '.schema == "spdnn-run-1" and .scaling == {kind: "strong", ranks: 1} and .problem.layers == 4' points.jsonl
  [ "$(ls -A | sort | tr '\n' ' ')" = "launch launched points.jsonl " ]
  [[ "$(<launched)" == *" --progress never" ]] # or each run would draw a bar beside the table
}

@test "other numbers of ranks than asked for are noticed" {
  run "${scaling[@]}" --ranks 2
  [ "$status" -eq 4 ]
  [[ "$output" == *"--launcher: 1 ranks ran, expected 2"* ]]
}

@test "a launcher that is missing or fails, and options that are wrong" {
  run "${bare[@]}" --ranks 1 --launcher ./no-such-program
  [ "$status" -eq 4 ]
  [[ "$output" == *"cannot start ./no-such-program: "* ]]
  run "${bare[@]}" --ranks 1 --launcher "false {ranks}"
  [ "$status" -eq 4 ]
  [[ "$output" == *"ended with exit code 1"* ]]
  run "${scaling[@]}" --kind sideways
  [ "$status" -eq 2 ]
  run "${scaling[@]}" --ranks none
  [ "$status" -eq 2 ]
}

# running_commands: those that bear the mark in their environment, but the benchmark itself.
running_commands() { grep -lszxF "$mark" /proc/[0-9]*/environ | grep -vxF "/proc/$1/environ"; }

@test "a benchmark that is ended or killed takes its run with it" {
  printf '#!/bin/sh\nshift\nexec sleep 6000\n' >launch
  for signal in TERM HUP KILL; do
    mark="SPDNN_TEST_JOB=$$-$signal"
    env --default-signal=TERM,HUP "$mark" "${scaling[@]}" --ranks 1 3>&- &  # also where the suite itself ignores them
    benchmark=$!
    within 600 running_commands $benchmark
    kill -s $signal $benchmark
    wait $benchmark || status=$?
    [ "$status" -gt 128 ]
    within 600 eval '! running_commands $benchmark'
  done
}
