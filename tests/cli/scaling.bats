#!/usr/bin/env bats
# spdnn bench scaling: with a launcher of the tests' own, which starts one process, whatever it is asked for.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  printf '#!/bin/sh\nshift\nexec "$@"\n' >launch
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
  [ "$(ls -A | sort | tr '\n' ' ')" = "launch points.jsonl " ]
}

@test "other numbers of ranks than asked for are noticed" {
  run "${scaling[@]}" --ranks 2
  [ "$status" -eq 4 ]
  [[ "$output" == *"--launcher: 1 ranks ran, expected 2"* ]]
}

@test "a launcher that is missing or fails, and options that are wrong" {
  run "${bare[@]}" --ranks 1 --launcher ./no-such-program
  [ "$status" -eq 4 ]
  [[ "$output" == *"./no-such-program: cannot be started"* ]]
  run "${bare[@]}" --ranks 1 --launcher "false {ranks}"
  [ "$status" -eq 4 ]
  [[ "$output" == *"ended with exit code 1"* ]]
  run "${scaling[@]}" --kind sideways
  [ "$status" -eq 2 ]
  run "${scaling[@]}" --ranks none
  [ "$status" -eq 2 ]
}
