#!/usr/bin/env bats
# `spdnn bench model`: which times it takes, and how it shows them. No test judges how fast anything is.

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$SPDNN" generate model --family lenet5 --out net.onnx
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return 1
}

# bench OPTIONS...: a few runs of each configuration.
bench() { "$SPDNN" bench model net.onnx --runs 3 --warm-up 0 "$@"; }

@test "a line for each batch and number of threads" {
  bench --batch 1,4 --threads 1,2 --json lines.jsonl >table
  [ "$(wc -l <table)" -eq 5 ]
  [ "$(awk 'NR == 1 { print $2, $3, $4 }' table)" = "batch threads runs" ]
  [ "$(awk 'NR > 1 { print $2, $3, $4 }' table | tr '\n' ';')" = "1 1 3;1 2 3;4 1 3;4 2 3;" ]
  [ "$(jq -c '[.batch, .machine.threads, .runs]' lines.jsonl | tr '\n' ' ')" = "[1,1,3] [1,2,3] [4,1,3] [4,2,3] " ]
  jq -es 'all(.seconds | .min > 0 and .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max)' lines.jsonl
  jq -es 'all(.batch / .seconds.p50 / .images_per_second | . > 0.999 and . < 1.001)' lines.jsonl
  jq -es 'all(.layers == null and .schema == "spdnn-model-bench-1" and .machine.load >= 0)' lines.jsonl
}

@test "--layers: every node of the model that ran, in the table, the line and the page" {
  bench --layers --threads 1 --json line.json --html page.html >table
  nodes=$(jq '.layers | length' line.json)
  [ "$nodes" -ge 8 ]
  [ "$(wc -l <table)" -eq $((3 + nodes)) ]
  grep -q 'Time by node' page.html
  jq -r '.layers[].name' line.json | while read -r name; do grep -qF "$name" page.html; done
  bench --threads 1 --html - >page.html 2>table
  ! grep -q 'Time by node' page.html
  [ "$(wc -l <table)" -eq 2 ]
}

@test "a duration ends the runs, of which there is at least one" {
  "$SPDNN" bench model net.onnx --seconds 0 --warm-up 0 --threads 1 --json - 2>table | jq -e '.runs == 1'
}

@test "what does not fit is refused" {
  refused() {
    run "$SPDNN" bench model "${@:3}"
    [ "$status" -eq "$1" ]
    # shellcheck disable=SC2053  # a pattern
    [[ "${lines[-1]}" == $2 ]] || { echo "${lines[-1]}"; return 1; }
  }
  refused 2 "spdnn: --seconds: -1 is negative" net.onnx --seconds -1
  refused 2 "spdnn: --batch: *" net.onnx --batch 0
  refused 2 "spdnn: --batch: 3, but the model takes 2 images" net.onnx --shape 2,1,28,28 --batch 3
  refused 3 "spdnn: nothing.onnx: *" nothing.onnx
  refused 2 "spdnn: *" net.onnx --json net.onnx
}
