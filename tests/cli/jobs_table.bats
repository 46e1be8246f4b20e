#!/usr/bin/env bats
# The results of cluster jobs: the table, the failed and missing runs, and the finished elements of a sweep.

setup() {
  load ../support/jobs
  make_site
  make_sbatch
  results=build/cluster
}

# Changes the result NAME.json by an EXPRESSION of jq, in the program's form.
change() {
  jq -c "$2" "$results/$1.json" >changed
  mv changed "$results/$1.json"
}

# aligned COLUMNS: whether texts, which are in these columns, begin at one place, and numbers, in the others, end at one.
aligned() {
  python3 -c '
import re, sys
texts = [int(number) for number in sys.argv[1].split()]
rows = [[cell.span() for cell in re.finditer(r"\S+", row)] for row in sys.stdin]
for number, column in enumerate(zip(*rows, strict=True), 1):
    assert len({end if number not in texts else begin for begin, end in column}) == 1, number' "$1"
}

@test "the table shows the right numbers of models that are called as fields of the report are" {
  mkdir -p model build/cluster
  "$SPDNN" generate model --family lenet5 --out model/m.safetensors
  "$SPDNN" generate tensors --shape 2,1,28,28 --out images.npy
  for name in flops machine; do
    jq --arg name "$name" '.name = $name' model/architecture.json >changed
    mv changed model/architecture.json
    "$SPDNN" infer --model model/m.safetensors --inputs images.npy --json "build/cluster/$name.json" >/dev/null
    jq -e --arg name "$name" '.model.name == $name' "build/cluster/$name.json"
    change "$name" '.machine.ranks = 3 | .build.dirty = true'
    expected=$(jq -r --arg name "$name" '[$name, .variant, .precision, .model.nodes, .machine.ranks, .images, .seconds.infer.median,
      .images_per_second, .flops.dense / 1e9, .flops.sparse / 1e9, .verdict.status, .build.commit + "+", .machine.host] | @tsv' \
      "$results/$name.json" |
      awk '{ printf "%s %s %s %s %s %s %.6f %.6g %.4g %.4g %s %s %s", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13 }')
    run jobs/submit.sh table
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(xargs <<<"${lines[0]}")" = "name variant precision nodes ranks images infer_s images/s dense sparse verdict commit host" ]
    [ "$(grep "^$name " <<<"$output" | xargs)" = "$expected" ]
  done
  change flops '.variant = "an_engine_of_a_long_name" | .images = 1234567 | .verdict.status = "UNVERIFIED"'
  jobs/submit.sh table | aligned '1 2 3 11 12 13'
}

@test "the table names a result that cannot be read, and shows the others" {
  mkdir -p build/cluster/directory.json
  ln -s nowhere build/cluster/lost.json
  echo '{"schema":"spdnn-model-1","model":{"nodes":3},"verdict":{"status":"PASSED"}}' >build/cluster/there.json
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "${lines[1]}" == "there "*" PASSED "* ]]
  [ "${lines[2]}" = "failed: directory: its result cannot be read" ]
  [ "${lines[3]}" = "failed: lost: its result cannot be read" ]
}

# Makes a result by a run that is verified.
make_result() {
  mkdir -p "$results"
  [ -e few.spdnn ] || "$SPDNN" generate inputs --family digits --neurons 1024 --images 20 --out few.spdnn
  "$SPDNN" infer --generate official --neurons 1024 --layers 6 --inputs few.spdnn --verify all --json "$results/$1.json" >/dev/null
}

@test "the table has the numbers of each run under their names, the smaller network first" {
  make_result second
  cp "$results/second.json" "$results/first.json"
  change first '.problem.neurons = 256 | .machine.ranks = 3'
  cp "$results/second.json" "$results/a_third.json"
  change a_third '.problem.layers = 10 | .build.dirty = true'
  # More ranks and later engines come later.
  cp "$results/second.json" "$results/a_fifth.json"
  change a_fifth '.problem.layers = 10 | .variant = "zz" | .machine.ranks = 1'
  cp "$results/a_third.json" "$results/a_fourth.json"
  change a_fourth '.machine.ranks = 2'
  mv "$results/a_third.json" "$results/b_third.json"
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 6 ]
  [ "$(xargs <<<"${lines[0]}")" = \
    "name neurons layers variant passes ranks images infer_s TE/s with_setup end_to_end verdict commit host" ]
  local line=0 expected
  for name in first second b_third a_fourth a_fifth; do
    line=$((line + 1))
    expected=$(jq -r --arg name "$name" '[$name, .problem.neurons, .problem.layers, .variant, .passes, .machine.ranks, .problem.images,
      .seconds.infer.median, .rate / 1e12, .rate_with_setup / 1e12, .rate_end_to_end / 1e12, .verdict.status, .build.commit +
      (if .build.dirty then "+" else "" end), .machine.host] | @tsv' "$results/$name.json" |
      awk '{ printf "%s %s %s %s %s %s %s %.6f %.4g %.4g %.4g %s %s %s", $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14 }')
    [ "$(xargs <<<"${lines[line]}")" = "$expected" ]
  done
  aligned '1 4 5 12 13 14' <<<"$output"
}

@test "a network whose layers have other widths is shown with all of them, and whatever a reason says is one line" {
  make_result run
  change run '.problem.neurons = [12, 8, 4] | .variant = "a b"'
  printf 'exit code 3:\ta\tb\nc (job 7, log nowhere)\n' >"$results/other.failed"
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "${lines[1]}" =~ ^run\ +\[12,8,4\]\ +6\ +a\ b\ +.*\ 1\ +20\  ]]
  [ "${lines[2]}" = 'failed: other: exit code 3: a b c (job 7, log nowhere)' ]
}

@test "the table lists as failed what is no whole result, and shows the others" {
  make_result whole
  size=$(stat -c %s "$results/whole.json")
  : >"$results/empty.json"
  for cut in 1 40 900 $((size - 2)); do head -c "$cut" "$results/whole.json" >"$results/cut$cut.json"; done
  cat "$results/whole.json" "$results/whole.json" >"$results/twice.json"
  sed 's/"layers":6/"layers":\x00\x00/' "$results/whole.json" >"$results/hole.json"
  sed 's/^/}/' "$results/whole.json" >"$results/behind.json"
  cp "$results/whole.json" "$results/later.json"
  change later '.schema = "spdnn-run-9"'
  cp "$results/whole.json" "$results/silent.json"
  change silent 'del(.verdict)'
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "name "* && "${lines[1]}" == "whole "* && "${lines[2]}" == "failed: "* ]]
  [ "$(tail -n +3 <<<"$output" | sort)" = "$(sort <<END
failed: empty: its result is empty
failed: cut1: its result is no whole line of JSON
failed: cut40: its result is no whole line of JSON
failed: cut900: its result is no whole line of JSON
failed: cut$((size - 2)): its result is no whole line of JSON
failed: twice: its result is no whole line of JSON
failed: hole: its result is no whole line of JSON
failed: behind: its result is no whole line of JSON
failed: later: its result has the schema spdnn-run-9, expected spdnn-run-1 or spdnn-model-1
failed: silent: its result has no verdict
END
  )" ]
  { cat "$results/whole.json" && printf '\001' && cat "$results/whole.json"; } >"$results/apart.json"
  run jobs/submit.sh table
  grep -qx 'failed: apart: its result is no whole line of JSON' <<<"$output"
  [ "$(grep -c '^apart ' <<<"$output")" -eq 0 ]
  [[ "${lines[1]}" == "whole "* ]]
  mv "$results/apart.json" .
  rm "$results"/*
  mv apart.json "$results"
  run jobs/submit.sh table
  [ "$output" = 'failed: apart: its result is no whole line of JSON' ]
}

@test "a verdict of FAILED is listed as failed, for networks and for models, with or without word of the job" {
  make_result network
  change network '.verdict.status = "FAILED" | .verdict.against = "the truth"'
  cp "$results/network.json" "$results/stated.json"
  echo 'exit code 1: verdict FAILED (job 7, log nowhere)' >"$results/stated.failed"
  "$SPDNN" generate model --family lenet5 --out m.onnx
  "$SPDNN" generate tensors --shape 2,1,28,28 --out images.npy
  "$SPDNN" infer --model m.onnx --inputs images.npy --json "$results/model.json" >/dev/null
  run jobs/submit.sh table
  [ "$(tail -n 2 <<<"$output" | cut -d: -f1-2 | xargs)" = "failed: network failed: stated" ]
  change model '.verdict.status = "FAILED" | .verdict.against = "the labels"'
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [ "$(grep -c ' FAILED  ' <<<"$output")" -eq 3 ]
  [ "$(grep '^failed: ' <<<"$output" | sort)" = "$(sort <<END
failed: model: its verdict is FAILED, against the labels
failed: network: its verdict is FAILED, against the truth
failed: stated: exit code 1: verdict FAILED (job 7, log nowhere)
END
  )" ]
}

@test "control characters in what a job or a file says do not reach the terminal" {
  mkdir -p "$results"
  printf 'exit code 3: \033]0;title\a\033[31mred\xc2\x9b31m caf\xc3\xa9\nsecond line (job 7, log x)\n' >"$results/stated.failed"
  : >"$results/$(printf 'name\033[2J').json"
  run jobs/submit.sh table
  cat -v <<<"$output"
  [ "$status" -eq 1 ]
  [ "${lines[0]}" = 'failed: name?[2J: its result is empty' ]
  [ "${lines[1]}" = 'failed: stated: exit code 3: ?]0;title??[31mred?31m café second line (job 7, log x)' ]
  echo '{"schema":"spdnn-model-1","model":{"nodes":3},"verdict":{"status":"PASSED"}}' >"$results/$(printf 'whole\033[2J').json"
  run jobs/submit.sh table
  [[ "${lines[1]}" == 'whole?[2J '* ]]
}

@test "what is in the queue again has not failed, and is not missing" {
  mkdir -p "$results"
  jobs/submit.sh sweep --configs 1024x3,1024x4,1024x5,1024x6
  echo 'exit code 4: no memory (job 70_1, log nowhere)' >"$results/1024x3-auto.failed"
  echo 'exit code 4: no memory (job 70_2, log nowhere)' >"$results/1024x4-auto.failed"
  : >"$results/1024x5-auto.json"
  echo 'stopped from outside (job 71, log nowhere)' >"$results/alone.failed"
  echo 'stopped from outside (job 72, log nowhere)' >"$results/ended.failed"
  run jobs/submit.sh table
  echo "$output"
  [ "$(cut -d : -f 1-2 <<<"$output" | xargs)" = \
    "failed: 1024x3-auto failed: 1024x4-auto failed: 1024x5-auto failed: alone failed: ended missing: 1024x6-auto" ]
  make_command squeue <<END
echo '1 80 PENDING $PWD/$results +0'
echo '2 81 RUNNING $PWD/$results +1'
echo '1 82 RUNNING $PWD/$results +3'
echo 'N/A 71 RUNNING $PWD/$results +0'
echo '2 83 RUNNING $PWD/elsewhere +0'
END
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [ "$(tail -n 2 <<<"$output" | cut -d : -f 1-2 | xargs)" = "failed: 1024x4-auto failed: ended" ]
  [ "$(grep '^in the queue: ' <<<"$output" | sort | xargs)" = "in the queue: 1 PENDING in the queue: 3 RUNNING" ]
  make_command squeue <<<"for line in 2 4; do echo \$line 84 RUNNING '$PWD/$results' +0; done; echo 'N/A 72 RUNNING $PWD/$results +0'"
  rm "$results"/{1024x3-auto,alone}.failed "$results/1024x5-auto.json"
  run jobs/submit.sh table
  [ "$status" -eq 1 ]
  [ "$(tail -n 2 <<<"$output" | cut -d : -f 1-2 | xargs)" = "missing: 1024x3-auto missing: 1024x5-auto" ]
}

@test "table --wait shows the results once the queue has none of these jobs" {
  mkdir -p "$results"
  for times in 0 2; do
    rm -f asked "$results"/*
    make_command squeue <<END
if [ "\$(echo >>asked; wc -l <asked)" -gt $times ]; then
  echo 'exit code 4: lost (job 72, log nowhere)' >'$results/late.failed'
else
  echo 'N/A 72 RUNNING $PWD/$results +0'
fi
END
    run jobs/submit.sh table --wait
    echo "$output"
    [ "$status" -eq 1 ]
    [ "$output" = 'failed: late: exit code 4: lost (job 72, log nowhere)' ]
    [ "$(wc -l <asked)" -eq $((times + 1)) ]
  done
  # Without it, the queue is looked at once.
  make_command squeue <<<"echo >>asked; echo 'N/A 72 RUNNING $PWD/$results +0'"
  : >asked
  run jobs/submit.sh table
  [ "$status" -eq 0 ]
  [ "$output" = 'in the queue: 1 RUNNING' ]
  [ "$(wc -l <asked)" -eq 1 ]
}

# is_done EXPRESSION: whether a sweep counts its element as done where jq's EXPRESSION has changed the result.
is_done() {
  cp result.json "$results/1024x6-auto.json"
  change 1024x6-auto "$1"
  run jobs/submit.sh sweep --configs 1024x6 --dry-run
  echo "$output"
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = "1 elements: 1 in the results, 0 in the queue" ]
}

# Takes the place of a program that was built of a commit, or of modified files.
make_program() {
  rm build/spdnn
  printf '%s\n' '#!/bin/sh' "echo 'spdnn 0.1.0 (commit $1)'" >build/spdnn
  chmod +x build/spdnn
}

@test "an element of a sweep is done where its result is whole, right, of its configuration and of the program's commit" {
  make_result 1024x6-auto
  mv "$results/1024x6-auto.json" result.json
  make_program 0123456789ab
  of_program='.build.commit = "0123456789ab" | .build.dirty = false'
  is_done "$of_program"
  is_done "$of_program | .verdict.status = \"UNVERIFIED\""
  for other in '.verdict.status = "FAILED"' '.problem.neurons = 4096' '.problem.layers = 7' '.build.commit = "abcdef012345"' \
    '.build.dirty = true' '.schema = "spdnn-run-9"'; do
    run is_done "$of_program | $other"
    [ "$status" -ne 0 ]
  done
  is_done "$of_program"
  truncate -s -3 "$results/1024x6-auto.json"
  run jobs/submit.sh sweep --configs 1024x6 --dry-run
  [ "${lines[0]}" = "1 elements: 0 in the results, 0 in the queue" ]
}

@test "if the commit does not identify the program's sources, a result is done if it is younger than the program" {
  make_result 1024x6-auto
  mv "$results/1024x6-auto.json" result.json
  for built in '0123456789ab, modified' unknown; do
    make_program "$built"
    of_program=".build.commit = \"${built%,*}\" | .build.dirty = $([[ $built == *modified ]] && echo true || echo false)"
    touch -d '1 hour ago' build/spdnn
    is_done "$of_program"
    touch -d '1 hour' build/spdnn
    run is_done "$of_program"
    [ "$status" -ne 0 ]
  done
}

@test "spdnn report reads the directory that jobs write their results to" {
  make_result one
  make_result two
  jq -c . "$results/one.json" >"$results/lines.jsonl"
  : >"$results/one.failed"
  mkdir "$results/logs"
  run "$SPDNN" report "$results"
  echo "$output"
  [ "$status" -eq 0 ]
  "$SPDNN" report "$results"/{lines.jsonl,one.json,two.json} >by_name.md
  [ "$output" = "$(cat by_name.md)" ]
}
