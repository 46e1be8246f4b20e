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
  ranks_that_say_so
  sed -i 's/machine.ranks = /machine.ranks = 1 + /' launch
  run "${scaling[@]}" --ranks 2
  [ "$status" -eq 4 ]
  [[ "$output" == *"--launcher: 3 ranks ran, expected 2"* ]]
}

# A launcher that says as many ranks as it is asked for ran, in 8 s of infer and 20 s of all on two ranks, 5 s and 16 s on others.
ranks_that_say_so() {
  cat >launch <<'END'
#!/bin/bash
ranks=$1
shift
echo "$ranks $*" >>launched
"$@" || exit
line=${*: -3:1}
times='.seconds.infer = {min: 5, median: 5, max: 5, sum: 5} | .seconds.total = 16 | .rate = 4e12'
[ "$ranks" -ne 2 ] || times='.seconds.infer = {min: 8, median: 8, max: 8, sum: 8} | .seconds.total = 20 | .rate = 3e12'
jq -c ".machine.ranks = $ranks | $times" "$line" >changed && cp changed "$line"
END
}

@test "efficiencies are relative to the first row, of one problem or of one for each rank; each line is written once" {
  ranks_that_say_so
  run "${scaling[@]}" --ranks 2,4,8 --threads 1 --json points.jsonl
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(awk 'NR > 1 { print $1, $2, $3, $4, $6, $7, $8 }' <<<"$output" | tr '\n' ';')" = \
    '2 100 8.000000 100.0 3 20.0000 100.0;4 100 5.000000 80.0 4 16.0000 62.5;8 100 5.000000 40.0 4 16.0000 31.2;' ]
  [ "$(jq -c '[.scaling.kind, .scaling.ranks, .machine.ranks, .problem.images, .machine.threads]' points.jsonl | tr '\n' ';')" = \
    '["strong",2,2,100,1];["strong",4,4,100,1];["strong",8,8,100,1];' ]
  [ "$(grep -c ' --threads 1 ' launched)" -eq 3 ]
  [ "$(cut -d ' ' -f 1 launched | xargs)" = '2 4 8' ]
  "${scaling[@]}" --ranks 2,4 --kind weak --json - >lines 2>table
  [ "$(jq -c '[.scaling.kind, .scaling.ranks, .problem.images]' lines | tr '\n' ';')" = '["weak",2,200];["weak",4,400];' ]
  [ "$(awk 'NR > 1 { print $1, $2, $4, $8 }' table | tr '\n' ';')" = '2 200 100.0 100.0;4 400 160.0 125.0;' ]
}

@test "images are as wide as the network's inputs, whatever its layers have" {
  mkdir net
  printf '1\t1\t1\n2\t2\t1\n' >net/n16-l1.tsv
  printf '1\t1\t1\n' >net/n16-l2.tsv
  "$SPDNN" convert net net.spdnn --neurons 16,8,4 --bias -0.25
  run "$SPDNN" bench scaling --images 30 --trials 2 --device cpu --launcher "./launch {ranks}" --ranks 1 --network net.spdnn --json points.jsonl \
    --reduce dead --variant cpu_openmp
  echo "$output"
  [ "$status" -eq 0 ]
  jq -e '.problem == {neurons: [16, 8, 4], layers: 2, bias: .problem.bias, cap: 32, images: 30, empty_images: .problem.empty_images, edges: 3} and
    .trials == 2 and .passes == "dead" and .variant == "cpu_openmp"' points.jsonl
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
