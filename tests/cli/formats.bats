#!/usr/bin/env bats
# What becomes of a model's weights in each form of file: a test for each row of the table in docs/pruning.md. That types of
# numbers are read from .onnx, .safetensors and .tflite as the table says is in tests/unit/io/models (forms of weights).

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  "$SPDNN" generate model --family lenet5 --sparsity 0 --seed 3 --out dense.onnx >/dev/null
  "$SPDNN" generate tensors --shape 2,1,28,28 --out images.npy >/dev/null
  "$SPDNN" prune dense.onnx pruned.onnx --sparsity 0.9 >/dev/null
  "$SPDNN" prune dense.onnx groups.onnx --pattern 2:4 >/dev/null
  for form in fp16 int8 codebook4; do "$SPDNN" convert pruned.onnx $form.spdnn --to $form; done
  "$SPDNN" convert groups.onnx groups.spdnn --to 2:4
}

# forms FILE: the forms of its weights.
forms() { "$SPDNN" inspect "$1" --json - 2>/dev/null | jq -r '[.weight_forms[].form] | join(", ")'; }

size() { stat -c %s "$1"; }

# computes_as ONE OTHER: the fp64 reference gives the same logits of both, bit for bit.
computes_as() {
  "$SPDNN" infer --model "$1" --inputs images.npy --variant conv_reference --logits one.npy --progress never >/dev/null
  "$SPDNN" infer --model "$2" --inputs images.npy --variant conv_reference --logits other.npy --progress never >/dev/null
  cmp one.npy other.npy
}

# all_become ENDING: each form is written to a file of this ending as fp32, and computes the same.
all_become() {
  for form in groups fp16 int8 codebook4; do
    mkdir -p $form
    "$SPDNN" convert $form.spdnn "$form/model$1"
    [ "$(forms "$form/model$1")" = "csr f32" ]
    computes_as $form.spdnn "$form/model$1"
  done
}

@test ".spdnn leaves zeros out and keeps 2:4, fp16, int8 with scales, and codebooks" {
  "$SPDNN" convert dense.onnx dense.spdnn
  "$SPDNN" convert pruned.onnx pruned.spdnn
  [ $((5 * $(size pruned.spdnn))) -lt "$(size dense.spdnn)" ]
  computes_as pruned.onnx pruned.spdnn
  computes_as groups.onnx groups.spdnn
  [ "$(forms groups.spdnn)" = "2:4 f32, csr f32" ]
  [ "$(forms fp16.spdnn)" = "csr f16, dense f16" ]
  [ "$(forms int8.spdnn)" = "csr i8, dense i8" ]
  [ "$(forms codebook4.spdnn)" = "csr f32 palette of 16, dense f32 palette of 16" ]
  for form in groups fp16 int8 codebook4; do
    "$SPDNN" convert $form.spdnn again.spdnn
    [ "$(forms again.spdnn)" = "$(forms $form.spdnn)" ]
    computes_as $form.spdnn again.spdnn
  done
}

@test ".onnx stores zeros or leaves them out, has int8 with DequantizeLinear, and all else as fp32" {
  [ "$(size pruned.onnx)" -eq "$(size dense.onnx)" ]
  "$SPDNN" convert pruned.onnx sparse.onnx --weights sparse
  [ $((3 * $(size sparse.onnx))) -lt "$(size dense.onnx)" ]
  computes_as pruned.onnx sparse.onnx
  all_become .onnx
  "$SPDNN" convert pruned.onnx whole.onnx --to int8
  grep -aq DequantizeLinear whole.onnx
  [ $((3 * $(size whole.onnx))) -lt "$(size pruned.onnx)" ]
  [ "$(forms whole.onnx)" = "csr f32" ]
  computes_as int8.spdnn whole.onnx
}

@test ".safetensors stores zeros, and all forms as fp32" {
  mkdir dense pruned
  for name in dense pruned; do "$SPDNN" convert $name.onnx $name/model.safetensors; done
  [ "$(size pruned/model.safetensors)" -eq "$(size dense/model.safetensors)" ]
  computes_as pruned.onnx pruned/model.safetensors
  all_become .safetensors
}

@test ".tflite is read, sparse and of fp16, and never written" {
  run "$SPDNN" convert pruned.onnx out.tflite
  [ "$status" -eq 2 ]
  [[ "$output" == *".onnx"* ]]
  [ ! -e out.tflite ]
  cnn=$root/../shared/data/cnn
  [ -f "$cnn/face_detection_full_range_sparse.tflite" ] || skip "needs ../shared/data/cnn"
  [ "$(forms "$cnn/face_detection_full_range_sparse.tflite")" = "csr f16, dense f16" ]
  [ "$(forms "$cnn/face_detection_full_range.tflite")" = "dense f16" ]
}

@test "quantised values are steps of nodes in .spdnn and .safetensors, and QuantizeLinear with DequantizeLinear in .onnx" {
  "$SPDNN" convert pruned.onnx values.onnx --to int8 --inputs images.npy
  grep -aq QuantizeLinear values.onnx
  mkdir values
  for file in values.spdnn values/model.safetensors; do
    "$SPDNN" convert values.onnx $file
    computes_as values.onnx $file
    "$SPDNN" inspect $file | grep -q '4 values are quantised'
  done
  ! grep -aq QuantizeLinear values/architecture.json
}

@test "the table of formats has a row for each form that is written or read, and no others" {
  rows=$(sed -n '/^## Formats/,/^## /p' "$root/docs/pruning.md" | grep -oE '^\| [^|]*`\.[a-z]+`' | grep -oE '\.[a-z]+')
  [ "$rows" = $'.spdnn\n.onnx\n.safetensors\n.tflite' ]
}
