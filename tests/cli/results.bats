#!/usr/bin/env bats
# The tables in results/, and the script that runs the official networks on a GPU, here with a program that stands for
# spdnn and says how long a run takes.

setup() {
  root=$BATS_TEST_DIRNAME/../..
  tables=("$root/tests/bench/tables.py")
  official=("$root/tests/bench/official_gpu.sh" --scratch "$BATS_TEST_TMPDIR/scratch")
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
export -f line

# Makes a program that stands for spdnn: a layer takes 1 ms with filtered, 1 s with buffered, 10 s with unbuffered and
# 10 us with others; cublas_dense does not end.
make_program() {
  cat >"$BATS_TEST_TMPDIR/spdnn" <<'END'
#!/usr/bin/env bash
echo "$*" >>"$(dirname "$0")/calls"
if [ "$1" = generate ]; then
  shift 2
  while [ "$1" != --out ]; do shift; done
  touch "$2"
  exit
fi
declare -A given
shift
while [ $# -gt 0 ]; do given[$1]=$2 && shift 2; done
case ${given[--variant]} in
  cublas_dense) exec sleep 30 ;;
  spmm_rows) echo "spdnn: too wide" >&2 && exit 2 ;;
  *_filtered) layer=0.001 ;;
  *_buffered) layer=1 ;;
  *_unbuffered) layer=10 ;;
  *) layer=0.00001 ;;
esac
seconds=$(awk -v l="${given[--layers]}" -v s="$layer" 'BEGIN { print l * s }')
line "${given[--neurons]}" "${given[--layers]}" "${given[--variant]}" "${given[--reduce]}" "$seconds" \
  "${given[--trials]}" >"${given[--json]}"
echo 'verdict          PASSED'
END
  chmod +x "$BATS_TEST_TMPDIR/spdnn"
  official+=(--spdnn "$BATS_TEST_TMPDIR/spdnn")
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

@test "official_gpu runs its groups, each line as soon as it is there" {
  make_program
  run "${official[@]}" --neurons 1024,4096 "$file" planned unsaturated
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(jq -sc 'map([.problem.neurons, .problem.layers, .trials, .passes]) | unique | length' "$file")" -eq 12 ]
  [ "$(jq -s 'map(.trials == 20) | all' "$file")" = true ]
  "${tables[@]}" "$BATS_TEST_TMPDIR/machine"
  run "${official[@]}" --limit 1 --neurons 1024 --trials 3 "$file" dead
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"cublas_dense dead: more than 1 s"* ]]
  [[ "$output" == *"spmm_rows dead: not taken: spdnn: too wide"* ]]
  [ "$(jq -sc 'map(select(.passes == "dead") | .variant)' "$file")" = '["resident","spmm_merge","cusparse_spmm"]' ]
}

@test "official_gpu goes as deep as the limit allows, with as many trials" {
  make_program
  run "${official[@]}" --limit 30 --neurons 1024 "$file" spgemm
  echo "$output"
  [ "$status" -eq 0 ]
  depths=$(jq -sc 'group_by(.variant) | map([.[0].variant[16:], map([.problem.layers, .trials])]) | .[]' "$file")
  [ "$depths" = '["buffered",[[4,2],[12,1]]]
["filtered",[[4,10],[12,10],[120,10],[480,10],[1920,5]]]
["unbuffered",[[4,1]]]' ]
  [[ "$output" == *"1024 x 120 cusparse_spgemm_buffered dead: not run, it would take about 120 s"* ]]
}

@test "official_gpu says what it would run, stops when its budget is used up, and refuses what it does not know" {
  make_program
  run "${official[@]}" --dry-run --neurons 65536 "$file" planned spgemm
  [ "$status" -eq 0 ]
  [ "$(grep -c '^timeout 60 .* infer --generate official --neurons 65536 ' <<<"$output")" -eq 12 ]
  [ ! -e "$file" ]
  [ ! -e "$BATS_TEST_TMPDIR/calls" ]
  run "${official[@]}" --budget 0 "$file" planned
  [ "$status" -eq 0 ]
  [[ "$output" == *"budget of 0 s used up"* ]]
  [ ! -e "$file" ]
  run "${official[@]}" "$file" everything
  [ "$status" -eq 2 ]
  run "${official[@]}" --surprise 1 "$file" planned
  [ "$status" -eq 2 ]
  run "${official[@]}" "$file"
  [ "$status" -eq 2 ]
}
