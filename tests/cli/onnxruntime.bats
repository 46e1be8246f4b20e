#!/usr/bin/env bats
# onnxruntime loads the ONNX files that spdnn writes, and its results agree with spdnn's on these files and on those read.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  for needed in node protoc "$root/build/onnxruntime"; do
    [ -n "${CI:-}" ] || command -v "$needed" >/dev/null || [ -e "$needed" ] || skip "needs $needed: make deps"
  done
  agrees=(/usr/bin/python3 "$root/tests/peers/onnxruntime_agrees.py" "$SPDNN")
}

@test "random graphs: read, run, and written again, they give what onnxruntime computes" {
  run "${agrees[@]}" --first 1 --graphs 30 --keep .
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "models of other formats, written as ONNX: onnxruntime computes the same" {
  /usr/bin/python3 "$root/tests/support/toy_model.py" .
  "${agrees[@]}" --model model.safetensors:3,1,6,6
  "$SPDNN" generate model --family lenet5 --out lenet5.spdnn
  "${agrees[@]}" --model lenet5.spdnn:2,1,28,28
  "$SPDNN" generate model --family random --out random.spdnn
  "${agrees[@]}" --model random.spdnn:2,3,12,10
}
