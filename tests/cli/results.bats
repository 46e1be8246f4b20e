#!/usr/bin/env bats
# The pages of results/ are those made from its lines.

load ../support/result_lines

setup() {
  root=$BATS_TEST_DIRNAME/../..
  mkdir "$BATS_TEST_TMPDIR/machine"
  export PYTHONDONTWRITEBYTECODE=1
}

@test "the committed tables are what the committed lines make" {
  run "$root/tests/report/make_results.sh" --check "$SPDNN"
  echo "$output"
  [ "$status" -eq 0 ]
  for directory in "$root"/results/*/; do [ -s "$directory/tables.md" ]; done
}

@test "tables that their lines do not make are noticed, and made anew with a page of charts" {
  mkdir -p "$BATS_TEST_TMPDIR/tests"
  cp -r "$root/tests/report" "$BATS_TEST_TMPDIR/tests"
  mkdir -p "$BATS_TEST_TMPDIR/results/machine"
  cp "$root/results/baselines.csv" "$BATS_TEST_TMPDIR/results"
  cd "$BATS_TEST_TMPDIR" || return 1
  line 1024 120 cusparse_spmm dead 0.002 5 >results/machine/lines.jsonl
  tests/report/make_results.sh "$SPDNN"
  grep -q '<canvas' build/results/machine.html
  tests/report/make_results.sh --check "$SPDNN"
  line 1024 480 resident dead 0.002 5 >>results/machine/lines.jsonl
  run tests/report/make_results.sh --check "$SPDNN"
  [ "$status" -eq 1 ]
  [[ "$output" == *"machine/tables.md is not what"* ]]
}

@test "the scaling page and its plot are what the committed lines make, and a number that differs is noticed" {
  page=("$root/tests/bench/scaling_page.py" --check)
  for lines in "$root"/results/*/scaling.jsonl; do "${page[@]}" "${lines%/*}"; done
  cp "$root"/results/h200/scaling.* "$BATS_TEST_TMPDIR/machine"
  cd "$BATS_TEST_TMPDIR/machine" || return 1
  chmod u+w scaling.*
  "${page[@]}" .
  sed -i '0,/[0-9]\.[0-9] %/s//x.x %/' scaling.md
  run "${page[@]}" .
  [ "$status" -eq 1 ]
  [[ "$output" == *"scaling.md is not what"* && "$output" != *"scaling.svg"* ]]
  cp "$root/results/h200/scaling.md" .
  jq -c 'if .tag == "official-65536x120" and .launched == 0 then .wall *= 1.1 else . end' \
    "$root/results/h200/scaling.jsonl" >scaling.jsonl
  run "${page[@]}" .
  [ "$status" -eq 1 ]
  [[ "$output" == *"scaling.md is not what"* ]]
  jq -c 'if .tag == "scan-sf-16384x120-469" then .wall *= 1.1 | .seconds.infer.median *= 1.1 | .rate /= 1.1 else . end' \
    "$root/results/h200/scaling.jsonl" >scaling.jsonl
  run "${page[@]}" .
  [ "$status" -eq 1 ]
  [[ "$output" == *"scaling.md is not what"*"scaling.svg is not what"* ]]
}

@test "scaling lines that are not understood, and lines that contradict the words of the page, are refused" {
  page=("$root/tests/bench/scaling_page.py" .)
  cd "$BATS_TEST_TMPDIR/machine" || return 1
  refuse() {
    jq -c "$1" "$root/results/h200/scaling.jsonl" >scaling.jsonl
    run "${page[@]}"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"$2"* ]]
    [ ! -e scaling.md ]
  }
  refuse 'del(.wall)' "scaling.jsonl:1: no field wall"
  refuse 'select(.tag != "scan-sf-16384x120-59")' "scan-sf-16384x120: a point that the model is fitted to is missing"
  refuse 'select(.tag != "official-1024x120" or .launched == 0)' "official-1024x120: no runs on 2 GPUs"
  refuse 'if .launched == 0 then .wall *= 5 else . end' "two GPUs are slower than one"
}
