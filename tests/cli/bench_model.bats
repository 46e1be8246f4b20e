#!/usr/bin/env bats
# `spdnn bench model`: the times that it takes, and their presentation. No test judges a speed.

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
  [ "$(wc -l <table)" -eq 6 ]
  [ "$(sed -n 4p table)" = "  computed by 1 of 2 threads, as nodes are small" ] # a single image, and lenet5
  [ "$(jq -c '[.machine.threads, .computing_threads]' lines.jsonl | tr '\n' ' ')" = "[1,1] [2,1] [1,1] [2,2] " ]
  sed -i 4d table
  [ "$(awk 'NR == 1 { print $2, $3, $4 }' table)" = "batch threads runs" ]
  [ "$(awk 'NR > 1 { print $2, $3, $4 }' table | tr '\n' ';')" = "1 1 3;1 2 3;4 1 3;4 2 3;" ]
  [ "$(jq -c '[.batch, .machine.threads, .runs]' lines.jsonl | tr '\n' ' ')" = "[1,1,3] [1,2,3] [4,1,3] [4,2,3] " ]
  jq -es 'all(.seconds | .min > 0 and .min <= .p50 and .p50 <= .p90 and .p90 <= .p99 and .p99 <= .max)' lines.jsonl
  jq -es 'all(.batch / .seconds.p50 / .images_per_second | . > 0.999 and . < 1.001)' lines.jsonl
  jq -es 'all(.layers == null and .schema == "spdnn-model-bench-1" and .load >= 0 and .with == null)' lines.jsonl
}

@test "--layers: every node of the model that ran, in the table, the line and the page" {
  bench --layers --threads 1 --json line.json --html page.html >table
  nodes=$(jq '.layers | length' line.json)
  [ "$nodes" -ge 8 ]
  [ "$(wc -l <table)" -eq $((3 + nodes)) ]
  grep -q 'Time by node' page.html
  grep -q 'Times of models' page.html
  jq -r '.layers[].name' line.json | while read -r name; do grep -qF "$name" page.html; done
  bench --threads 1 --html - >page.html 2>table
  ! grep -q 'Time by node' page.html
  [ "$(wc -l <table)" -eq 2 ]
}

@test "a duration ends the runs, of which there is at least one" {
  "$SPDNN" bench model net.onnx --seconds 0 --warm-up 0 --threads 1 --json - 2>table | jq -e '.runs == 1'
}

@test "--with onnxruntime: in turns, with equal outputs; the file itself, or the one written of another format" {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  for needed in node "$root/build/onnxruntime"; do
    [ -n "${CI:-}" ] || command -v "$needed" >/dev/null || [ -e "$needed" ] || skip "needs $needed: make deps"
  done
  "$SPDNN" bench model net.onnx --runs 20 --warm-up 0 --threads 1,2 --with onnxruntime --json lines.jsonl --html page.html >table
  [ "$(wc -l <table)" -eq 8 ]
  [[ "$(sed -n 4p table)" == *"/ onnxruntime: "*" turns); outputs agree: "* ]]
  jq -es 'length == 2 and all(.with | .name == "onnxruntime" and .host == "node" and .file == "given" and .outputs.agree and .runs == 20
    and .turns >= 8 and .ratio.min <= .ratio.median and .ratio.median <= .ratio.max and .outputs.largest_expected > 0)' lines.jsonl
  grep -q "onnxruntime $(jq -r '.with.version' lines.jsonl | head -n 1)" page.html
  "$SPDNN" convert net.onnx net.spdnn
  "$SPDNN" bench model net.spdnn --runs 1 --warm-up 0 --threads 1 --with onnxruntime --json line.json
  jq -e '.with.file == "written" and .with.outputs.agree' line.json
}

@test "--with onnxruntime: differing outputs are reported, with exit code 1" {
  mkdir -p fake/onnxruntime-node
  cat >fake/onnxruntime-node/index.js <<'END'
const run = async () => ({ y: { dims: [1, 10], data: new Float32Array(10).fill(process.env.VALUE ? Number(process.env.VALUE) : 7) } });
exports.env = { versions: { node: "0.0" } };
exports.Tensor = class {};
exports.InferenceSession = { create: async (model) => {
  if (process.env.REFUSES) throw new Error("no such\nop");
  return { inputNames: ["x"], outputNames: ["y"], run };
} };
END
  command -v node >/dev/null || skip "needs node: make deps"
  export NODE_PATH=$PWD/fake
  run bench --threads 1 --with onnxruntime
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"onnxruntime 0.0 "*"outputs DIFFER: "*" apart, up to 7"* ]]
  VALUE=NaN run bench --threads 1 --with onnxruntime --json line.json
  [ "$status" -eq 1 ]
  jq -e '.with.outputs == {largest_difference: null, largest_expected: 0, agree: false}' line.json
  REFUSES=1 run bench --threads 1 --with onnxruntime
  echo "$output"
  [ "$status" -eq 3 ]
  [ "${lines[-1]}" = 'spdnn: onnxruntime: Error: no such\x0aop' ]
}

@test "--with onnxruntime: under Python, where node has none" {
  mkdir -p relu python
  jq -n '{input_shape: ["N", 3, 4], nodes: [{op: "relu", name: "y", inputs: ["input"]}, {op: "relu", name: "z", inputs: ["input"]}],
    outputs: ["y", "z"]}' >relu/architecture.json
  printf '\2\0\0\0\0\0\0\0{}' >relu/model.safetensors
  # A stand-in with onnxruntime's interface, which computes the model above.
  cat >python/onnxruntime.py <<'END'
import os, types, numpy
__version__ = "0.1"
class SessionOptions: pass
class InferenceSession:
    def __init__(self, model, options, providers):
        if "REFUSES" in os.environ: raise RuntimeError("no such\nop")
        assert open(model, "rb").read() and providers == ["CPUExecutionProvider"]
        assert (options.intra_op_num_threads, options.inter_op_num_threads) == (2, 1)
    def get_inputs(self): return [types.SimpleNamespace(name="input")]
    def get_outputs(self): return [types.SimpleNamespace(name=name) for name in "yz"]
    def run(self, names, feeds):
        assert names is None and feeds["input"].shape == (5, 3, 4) and feeds["input"].dtype == numpy.float32
        y, z = (numpy.maximum(feeds["input"], 0) for _ in "yz")
        y[0] += numpy.float32(os.environ.get("MORE_AT_FIRST", 0))
        z[4] += numpy.float32(os.environ.get("MORE_AT_LAST", 0))
        return [y, z]
END
  ln -sf "$(type -P true)" python/node
  ln -sf /usr/bin/python3 python/python3
  with_python() {
    PATH=$PWD/python PYTHONPATH=$PWD/python PYTHONDONTWRITEBYTECODE=1 run "$(realpath "$SPDNN")" bench model relu/model.safetensors \
      --runs 3 --warm-up 0 --batch 5 --threads 2 --with onnxruntime --json line.json
    echo "$output"
  }
  with_python
  [ "$status" -eq 0 ]
  jq -e '.with | .host == "python3" and .version == "0.1" and .file == "written" and .runs == 3 and .seconds.min > 0 and
    .outputs == {largest_difference: 0, largest_expected: .outputs.largest_expected, agree: true} and .outputs.largest_expected > 0' line.json
  MORE_AT_LAST=1 with_python
  [ "$status" -eq 1 ]
  MORE_AT_FIRST=inf with_python
  [ "$status" -eq 1 ]
  jq -e '.with.outputs.largest_difference == null' line.json
  REFUSES=1 with_python
  [ "$status" -eq 3 ]
  [ "${lines[-1]}" = 'spdnn: onnxruntime: no such\x0aop' ]
}

@test "--with onnxruntime: where neither node nor Python has it, the reasons are given" {
  mkdir -p bin
  ln -sf "$(type -P true)" bin/node
  printf '#!/bin/sh\necho "{\\"error\\": \\"No module named onnxruntime\\"}"\n' >bin/python3
  chmod +x bin/python3
  PATH=$PWD/bin run "$(realpath "$SPDNN")" bench model net.onnx --threads 1 --with onnxruntime
  echo "$output"
  [ "$status" -eq 4 ]
  [ "${lines[-1]}" = 'spdnn: onnxruntime: expected node with onnxruntime-node, or Python with onnxruntime (node: it printed no message; python3: No module named onnxruntime)' ]
}

@test "a report of lines of bench model: quantiles, and the other program after ours; a wrong line is refused" {
  bench --threads 1 --json line.json >table
  times='{min: 0.001, p50: 0.002, p90: 0.003, p99: 0.004, max: 0.005}'
  jq -c ".seconds = $times | .images_per_second = 500 | .batch = 1 | .load = 0.25 | .with = {name: \"onnxruntime\", version: \"1.2\",
    host: \"node\", file: \"given\", runs: 3, seconds: $times, images_per_second: 500, turns: 2,
    ratio: {min: 0.5, median: 0.75, max: 1}, outputs: {largest_difference: 0, largest_expected: 1, agree: false}}" line.json >lines.jsonl
  "$SPDNN" report lines.jsonl | tr -s ' -' >report.md
  grep -F '1 measurement of `spdnn bench model`' report.md
  grep -F '| net.onnx |' report.md
  grep -F '| 2.000 | 3.000 | 4.000 | 500.0 | - | 0.250 | - | 1 |' report.md
  grep -F '| net.onnx | onnxruntime 1.2 | 1 | 1 | 3 | 2.000 | 3.000 | 4.000 | 500.0 | 0.7500 | 0.250 | DIFFER | 1 |' report.md
  "$SPDNN" report lines.jsonl --format csv | head -n 1 | grep '^model,program,batch,threads,runs,p50_ms,'
  wrong() {
    jq -c "$1" lines.jsonl >wrong.jsonl
    run "$SPDNN" report wrong.jsonl
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: wrong.jsonl:1:"*": $2"* ]]
  }
  wrong '.seconds.p90 = 0.001' 'seconds is '
  wrong '.images_per_second = 501' 'images_per_second is 501, expected 1 images / 0.002 s'
  wrong '.with.images_per_second = 501' 'with.images_per_second is 501, expected 1 images / 0.002 s'
  wrong 'del(.with.outputs)' 'no field with.outputs'
  wrong '.with = 1' 'with is 1, expected an object'
  wrong '.layers = 1' 'layers is 1, expected null or a list'
}

@test "options that do not fit are refused" {
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
  refused 2 "spdnn: --with: 'x' is none of onnxruntime" net.onnx --with x
}

@test "a batch that does not fit says how much memory it needs" {
  run bench --batch 100000000 --threads 1
  [ "$status" -eq 4 ]
  [[ "$output" == *"spdnn: 100000000 images take 313.6 GB, but "*"B are available" ]]
}
