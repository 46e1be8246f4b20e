#!/usr/bin/env bats
# `spdnn bench conv`: which layers it times, and how it shows them. No test judges how fast anything is.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# bench OPTIONS...: one run of each side.
bench() { "$SPDNN" bench conv --runs 1 --warm-up 0 --threads 1 "$@"; }
# fp32_lines OPTIONS...: a table, and the lines of our kernels in fp32.
fp32_lines() {
  bench "$@" --json all.jsonl >table
  jq -c 'select(.variant == "sparse")' all.jsonl >lines.jsonl
}

@test "a line for each layer, share of zeros and batch" {
  fp32_lines --table skimcaffe --sparsity 0.5,0.9 --batch 1,2
  [ "$(jq -c '[.batch, .sparsity]' lines.jsonl | sort | uniq -c | tr -s ' ' | tr '\n' ';')" = " 4 [1,0.5]; 4 [1,0.9]; 4 [2,0.5]; 4 [2,0.9];" ]
  grep -q '^96x27x27 5x5 -> 256 in 2 groups  *50.0%  *0.0%  *1  *1  *sparse_conv' table
  jq -es 'all(.kept - (1 - .sparsity) | . > -0.01 and . < 0.01)' lines.jsonl
  jq -es '.[0].multiply_adds == 256 * 48 * 25 * 27 * 27 and .[2].batch == 1' lines.jsonl
  jq -es 'all(.batch / .seconds.p50 / .images_per_second | . > 0.999 and . < 1.001)' lines.jsonl
}

@test "int8 has lines of its own, exact ones, beside oneDNN in int8 and fp32" {
  bench --table skimcaffe --sparsity 0.9 --json lines.jsonl >table 2>said
  [ "$(jq -r 'select(.variant == "sparse_int8") | .kernel' lines.jsonl | sort | uniq -c | tr -s ' ')" = " 4 sparse_int8" ]
  jq -es 'map(select(.variant == "sparse_int8")) | all(.deviation.largest_ratio <= 1)' lines.jsonl
  "$SPDNN" variants --models | grep -q '^conv_dense ' || skip "built without oneDNN"
  jq -es 'all(.with.fp32.precision == "fp32")' lines.jsonl
  # Its results are right, or it is absent, which is said.
  jq -es 'all(.with.int8 | .precision == "int8" and .deviation.largest_ratio <= 1)' lines.jsonl ||
    { jq -es 'all(.with.int8 == null)' lines.jsonl && grep -q 'int8 is missing from layers where its sums would saturate' said; }
}

@test "first and depthwise layers are timed once, with all weights" {
  fp32_lines --table mobilenet --sparsity 0.8,0.9
  [ "$(jq -s 'map(select(.sparsity == 0)) | length' lines.jsonl)" -eq 10 ]
  [ "$(jq -s 'map(select(.kernel == "depthwise")) | length' lines.jsonl)" -eq 9 ]
  jq -es 'map(select(.sparsity == 0)) | all(.kept == 1)' lines.jsonl
  [ "$(jq -s length lines.jsonl)" -eq 28 ]
}

@test "zeros of the input, some layers, and some kernels alone" {
  bench --table skimcaffe --layer 27x27 --sparsity 0.9 --input-sparsity 0,0.75 --kernels sparse --with none --json lines.jsonl >table
  [ "$(jq -c '[.layer, .input_sparsity, .with.fp32]' lines.jsonl | tr '\n' ';')" = '["96x27x27 5x5 -> 256 in 2 groups",0,null];["96x27x27 5x5 -> 256 in 2 groups",0.75,null];' ]
  jq -es 'all(.deviation.largest_ratio <= 1)' lines.jsonl
  grep -q ' 75.0% ' table
  for refused in "--layer 28x28" "--kernels dense" "--with cudnn" "--input-sparsity 1" "--ablate hints"; do
    # shellcheck disable=SC2086  # an option and its value
    run bench --table skimcaffe $refused
    [ "$status" -eq 2 ]
    [[ "$output" == *"${refused% *}: "* ]]
  done
}

@test "lines are in their file as soon as they are measured, also where the command is interrupted" {
  "$SPDNN" bench conv --table mobilenet --sparsity "$(seq -s, -f '0.%02g' 1 99)" --with none --runs 1 --warm-up 0 \
    --threads 1 --json lines.jsonl >table 3>&- &
  until [ -s lines.jsonl ]; do
    kill -0 $!
    sleep 0.05
  done
  kill $!
  status=0
  wait $! || status=$?
  [ "$status" -eq 143 ]
  jq -es 'length > 0 and all(.table == "mobilenet")' lines.jsonl
  [ "$(find . -type f | sort | tr '\n' ' ')" = "./lines.jsonl ./table " ]
}

@test "more threads than any machine has processors are refused by all benchmarks" {
  for command in "conv --table skimcaffe" "model none.onnx" scaling; do
    # shellcheck disable=SC2086  # a command and its arguments
    run "$SPDNN" bench $command --threads 2000000000
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: --threads: 2000000000 is outside 1..1024" ]
  done
}

@test "a report has means, break-even shares and times, and marks where oneDNN is faster" {
  peer='{library: "oneDNN", precision: "fp32", kernel: "k", detail: "d", runs: 3, seconds: .seconds, images_per_second: .images_per_second}'
  fp32_lines --table skimcaffe --sparsity 0.5,0.9
  # Twice and half as slow at 50 %, twice and eight times as fast at 90 %.
  jq -c "$peer as \$p | (if .sparsity == 0.5 then 2 elif (.layer | startswith(\"96\")) then 0.5 else 0.125 end) as \$ratio
    | .with = {bf16: null, fp32: (\$p + {ratio: {min: \$ratio, median: \$ratio, max: \$ratio}})}" lines.jsonl >with.jsonl
  "$SPDNN" report with.jsonl --format csv --table conv-means >means.csv
  [ "$(awk -F, 'NR > 1 { print $2, $5, $6, $7, $8 }' means.csv | tr '\n' ';')" = "50.0 sparse 4 oneDNN in fp32 0.500;90.0 sparse 4 oneDNN in fp32 5.66;" ]
  "$SPDNN" report with.jsonl --format csv --table conv-break-even >even.csv
  awk -F, '$2 ~ /^96x27/ { exit !($7 > 69.9 && $7 < 70.1) }' even.csv
  awk -F, '$2 ~ /^256x13/ { exit !($7 > 59.9 && $7 < 60.1) }' even.csv
  "$SPDNN" report with.jsonl --format md | grep -q 'Convolutions'
  # The same numbers, with the zeros in the input: a share of the zeros that the line asked for.
  jq -c '.input_sparsity = .sparsity | .sparsity = 0.9 | .kept = 0.1' with.jsonl >input.jsonl
  "$SPDNN" report input.jsonl --format csv --table conv-break-even >even.csv
  awk -F, 'NR > 1 && !($8 == "input" && $9 == 90) { exit 1 }' even.csv
  awk -F, '$2 ~ /^96x27/ { exit !($7 > 69.9 && $7 < 70.1) }' even.csv
  awk -F, '$2 ~ /^256x13/ { exit !($7 > 59.9 && $7 < 60.1) }' even.csv
}

@test "an unknown table, a share that is none and a missing table are refused" {
  run bench --table vgg17
  [ "$status" -eq 2 ]
  [[ "$output" == *"'vgg17' is not one of escoin, pietron, sparsert, skimcaffe, vgg16, resnet50, mobilenet, sequences, linear"* ]]
  run bench --table vgg16 --sparsity 0.9,1
  [ "$status" -eq 2 ]
  [[ "$output" == *"--sparsity: 1 is outside [0, 1)"* ]]
  run bench
  [ "$status" -eq 2 ]
  [[ "$output" == *"--table is missing"* ]]
}

@test "a report shows the times of papers beside ours and those of all other kernels" {
  peer='{kernel: "k", detail: "d", runs: 3, images_per_second: .images_per_second, seconds: .seconds, ratio: {min: 2, median: 2, max: 2}}'
  fp32_lines --table skimcaffe --sparsity 0.9
  jq -c "$peer as \$p | .published = {source: \"A paper\", device: \"a GPU\", seconds: {escoin_fp32: 0.0607, cudnn_fp32: 0.0191}}
    | .with = {direct: (\$p + {library: \"conv_direct\", precision: \"fp32\"}), tf32: (\$p + {library: \"cuDNN\", precision: \"tf32\"})}" \
    lines.jsonl | head -1 >with.jsonl
  "$SPDNN" report with.jsonl --format csv --table conv-published >published.csv
  [[ "$(head -1 published.csv)" == *",escoin_fp32_ms,cudnn_fp32_ms,ours,time_ms,conv_direct_in_fp32_ms,cuDNN_in_tf32_ms,"* ]]
  milliseconds=$(jq -r '.seconds.p50 * 1000' with.jsonl)
  awk -F, -v ms="$milliseconds" 'NR == 2 { exit !($5 == "A paper" && $7 == 60.7 && $8 == 19.1 && $9 == "sparse_conv" && $10 / ms > 0.99 && $10 / ms < 1.01 && $11 == $10 && $12 == $10) }' published.csv
  "$SPDNN" report with.jsonl --format csv --table conv-times >times.csv
  [ "$(awk -F, 'NR > 1 { print $10, $12 }' times.csv | tr '\n' ';')" = "conv_direct in fp32 0.500;cuDNN in tf32 0.500;" ]
}
