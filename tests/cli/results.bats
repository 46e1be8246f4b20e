#!/usr/bin/env bats
# The tables and pages in results/.

setup() {
  root=$BATS_TEST_DIRNAME/../..
  tables=("$root/tests/bench/tables.py")
  file=$BATS_TEST_TMPDIR/machine/lines.jsonl
  mkdir "$BATS_TEST_TMPDIR/machine"
  export PYTHONDONTWRITEBYTECODE=1
}

# line NEURONS LAYERS VARIANT PASSES SECONDS TRIALS: prints what spdnn infer would write.
line() {
  jq -nc --argjson n "$1" --argjson l "$2" --arg v "$3" --arg p "$4" --argjson s "$5" --argjson t "$6" '
    {"1024": "-0.3", "4096": "-0.35", "16384": "-0.4", "65536": "-0.45"}[$n | tostring] as $bias | ($n * $l * 32) as $e |
    {schema: "spdnn-run-1", problem: {neurons: $n, layers: $l, bias: $bias, cap: 32, images: 60000, edges: $e},
     variant: $v, passes: $p, notes: [], precision: "fp32", trials: $t, batch: 60000, stored_edges: $e,
     seconds: {read: 0.5, plan: 0.25, upload: 0.125, infer: {min: $s, median: $s, max: $s}, gather: 0, write: 0, total: 2},
     rate: ($e * 60000 / $s), rate_end_to_end: ($e * 30000),
     verdict: {status: "PASSED", against: "list", categories: 1812}, machine: {cpu: "C", device: "D", threads: 1},
     build: {version: "0", commit: "abc", dirty: false}}'
}

@test "the committed tables are what the committed lines make" {
  run "${tables[@]}" --check "$root"/results/*/
  echo "$output"
  [ "$status" -eq 0 ]
  for directory in "$root"/results/*/; do [ -s "$directory/tables.md" ]; done
}

@test "the last line of a configuration counts, and what is missing is a dash" {
  line 1024 120 resident twins,saturated,dead 0.002 5 >"$file"
  line 1024 120 resident twins,saturated,dead,identical 0.001 20 >>"$file"
  line 4096 12 cusparse_spgemm_buffered dead 3 1 >>"$file"
  "${tables[@]}" "$BATS_TEST_TMPDIR/machine"
  cat "$BATS_TEST_TMPDIR/machine/tables.md"
  squeezed=$(tr -s ' ' <"$BATS_TEST_TMPDIR/machine/tables.md")
  [[ "$squeezed" == *"| 1024 | 120 | 1.000 | 1.000 | 1.000 | 235.9 | 500.0 | 250.0 | 125.0 | 0 | 0 | 2000 | 0.1180 | resident | twins,saturated,dead,identical | 20 |"* ]]
  [[ "$squeezed" != *"| 2.000 |"* ]]
  [[ "$squeezed" == *"| 1024 | 480 | - | - |"* ]]
  [[ "$squeezed" == *"| 4096 | 12 only | 3.000 | 3.146e+10 | 0.03146 | 1 |"*"| 4096 | 120 | - |"* ]]
  # Every row of a table is as long as the line below its head.
  awk '/^\|/ { if (!width) width = length($0); else if (length($0) != width) exit 1; next } { width = 0 }' \
    "$BATS_TEST_TMPDIR/machine/tables.md"
  "${tables[@]}" --check "$BATS_TEST_TMPDIR/machine"
  line 1024 480 resident twins,saturated,dead 0.002 5 >>"$file"
  run "${tables[@]}" --check "$BATS_TEST_TMPDIR/machine"
  [ "$status" -eq 1 ]
  [[ "$output" == *"tables.md is not what the lines beside it make"* ]]
}

@test "a line that is not understood is refused with its file and number" {
  line 1024 120 resident dead 0.002 5 >"$file"
  refuse() {
    cp "$file" "$file.good"
    printf '%s\n' "$1" >>"$file"
    run "${tables[@]}" "$BATS_TEST_TMPDIR/machine"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"lines.jsonl:2: "*"$2"* ]]
    [ ! -e "$BATS_TEST_TMPDIR/machine/tables.md" ]
    mv "$file.good" "$file"
  }
  good=$(cat "$file")
  refuse "${good%?}" "not JSON"
  refuse "" "not JSON"
  refuse "$(jq -c '.schema = "spdnn-run-9"' <<<"$good")" "schema"
  refuse "$(jq -c 'del(.seconds.infer.median)' <<<"$good")" "no field seconds.infer.median"
  refuse "$(jq -c '.trials = "5"' <<<"$good")" 'trials is "5"'
  refuse "$(jq -c '.rate *= 1.01' <<<"$good")" "rate is"
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
