#!/usr/bin/env bats
# spdnn infer --model and spdnn inspect MODEL: results, verdicts, exit codes, files written; real networks where their
# files are there.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  /usr/bin/python3 "$root/tests/support/toy_model.py" . 20
  infer=("$SPDNN" infer --model model.safetensors --inputs images.npy --progress never)
}

# array SHAPE TYPE VALUE...: an .npy file on stdout; VALUES are a Python expression.
array() {
  /usr/bin/python3 -c "
import pathlib, sys
sys.path.insert(0, '$root/tests/support')
import toy_model
toy_model.write_npy(pathlib.Path('$1'), $2, $3, '$4')"
}

# same_numbers FILE FILE: two .npy files hold equal numbers, of whatever types.
same_numbers() {
  /usr/bin/python3 -c "import numpy, sys; sys.exit(not numpy.array_equal(numpy.load('$1'), numpy.load('$2')))"
}

# refused CODE PATTERN ARGUMENT...: exit code, one line that has the pattern, no output.
refused() {
  local code=$1 pattern=$2
  shift 2
  run "$@" --logits out.npy
  echo "$output"
  [ "$status" -eq "$code" ]
  [ "${#lines[@]}" -eq 1 ]
  # shellcheck disable=SC2053
  [[ "$output" == $pattern ]]
  [ ! -e out.npy ]
}

@test "without a truth a run of a model is UNVERIFIED; every logit is within the bound of the reference" {
  run "${infer[@]}"
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED (against nothing"* ]]
  run "${infer[@]}" --verify all --json run.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED (against the reference in fp64 on all 20 images: largest deviation "*"; node by node: "*")" ]]
  jq -e '.schema == "spdnn-model-1" and .images == 20 and .classes == 7 and .reference.images == 20 and .reference.outside == 0
    and .reference.largest_ratio < 1 and .model.weights == 288 and .model.nonzeros < 120 and .model.nodes == 6
    and .model.nodes_run == 5 and .nodes.nodes == 5 and .nodes.images == 20 and .nodes.largest_ratio < 1 and .images_per_second > 0 and .verdict.status == "PASSED"' run.json
}

@test "a sample of the images proves nothing about the others: it fails or leaves the run UNVERIFIED" {
  "${infer[@]}" --logits logits.npy
  for options in "--verify 3" "--verify 19" "--verify 3 --expected five.npy"; do
    "${infer[@]}" --first 5 --logits five.npy
    # shellcheck disable=SC2086
    run "${infer[@]}" $options --json run.json
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"UNVERIFIED (against "*" images, a sample: largest deviation "*"; node by node: "* ]]
    jq -e '.verdict.status == "UNVERIFIED" and .reference.outside == 0 and .nodes.largest_ratio < 1' run.json
  done
  for options in "--verify 20" "--verify 21" "--verify 3 --expected logits.npy"; do
    # shellcheck disable=SC2086
    run "${infer[@]}" $options
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"PASSED (against "* ]]
  done
  array wrong.npy "(2, 7)" "[1.0] * 14" "<f4"
  run "${infer[@]}" --expected wrong.npy
  [ "$status" -eq 1 ]
  [[ "$output" == *"FAILED (against wrong.npy on the first 2 of 20 images, a sample"* ]]
}

@test "variants, batches, trials and rewrites give the same predictions, and their logits are written" {
  "${infer[@]}" --variant conv_reference --predictions expected.npy --logits logits.npy
  for options in "--batch 1" "--batch 7 --trials 3 --warm-up 1" "--rewrite none" "--rewrite affine,epilogues" "--threads 1" "--profile" "--precision fp64"; do
    # shellcheck disable=SC2086
    run "${infer[@]}" $options --expected logits.npy --predictions found.npy
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *PASSED* ]]
    cmp expected.npy found.npy
  done
}

@test "rewrites are made as chosen, and the report names them" {
  for rewrite in all none constants,hard_swish,padding,affine,dead_channels,twin_filters,unread; do
    "${infer[@]}" --variant conv_dense --rewrite $rewrite --profile --json $rewrite.json
  done
  jq -e '.rewrites == "constants,hard_swish,padding,affine,dead_channels,twin_filters,unread,epilogues" and .model.nodes_run < .model.nodes
    and ([.profile[] | select(.operation == "relu") | .seconds] | max == 0)' all.json
  # A program without oneDNN notes that, too.
  jq -e '.rewrites == "none" and .model.nodes_run == .model.nodes
    and (.notes | map(select(contains("oneDNN") | not)) == ["224 of 288 weights are zero (77.78 %); none is skipped"])' none.json
  jq -e '[.profile[] | select(.operation == "relu") | .seconds] | min > 0' constants,*.json
  run "${infer[@]}" --rewrite affine,batch_norms
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --rewrite: 'batch_norms' is not a rewrite; expected all, none, or a list of constants, hard_swish, padding, affine, dead_channels, twin_filters, unread, epilogues" ]
}

@test "expected logits: wrong ones fail, fewer rows are said to be fewer, and near ties do not fail" {
  "${infer[@]}" --first 5 --logits five.npy
  run "${infer[@]}" --expected five.npy
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED (against five.npy on the first 5 of 20 images, a sample"* ]]
  array wrong.npy "(20, 7)" "[1.0] * 140" "<f4"
  run "${infer[@]}" --expected wrong.npy --json failed.json
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"20 images are outside the bound, first 1 2 3"* ]]
  jq -e '.verdict.status == "FAILED" and .expected.outside == 20' failed.json
}

@test "expected outputs of a quantised model that a tie moves far are neither right nor wrong" {
  mkdir tie
  /usr/bin/python3 -c "
import json, struct
header = json.dumps({'one.value': {'dtype': 'F32', 'shape': [], 'data_offsets': [0, 4]}})
open('tie/model.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header.encode() + struct.pack('<f', 1))"
  echo '{"input_shape": ["N", 4], "nodes": [
    {"op": "constant", "name": "one", "inputs": [], "shape": []},
    {"op": "divide", "name": "d", "inputs": ["input", "one"]}, {"op": "round", "name": "r", "inputs": ["d"]},
    {"op": "clip", "name": "c", "inputs": ["r"], "low": 0, "high": 255},
    {"op": "multiply", "name": "q", "inputs": ["c", "one"]}]}' >tie/architecture.json
  array tie/images.npy "(1, 4)" "[0.5, 1.0, 2.0, 8.0]" "<f4"
  array tie/other.npy "(1, 4)" "[1.0, 1.0, 2.0, 8.0]" "<f4"
  infer=("$SPDNN" infer --model tie/model.safetensors --inputs tie/images.npy --progress never --rewrite none)
  for verify in "" "--verify all"; do
    # shellcheck disable=SC2086
    run "${infer[@]}" --expected tie/other.npy $verify --json run.json
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"UNVERIFIED (against "*"which proves nothing: values between two steps may be rounded to either"* ]]
    jq -e '.verdict.status == "UNVERIFIED" and .expected.undecided == 1 and .expected.widened == 1000' run.json
    "$root/tests/tools/check_lines.py" run.json
  done
  "${infer[@]}" --verify all | grep '^verdict *PASSED'
  array tie/wrong.npy "(1, 4)" "[3.0, 1.0, 2.0, 8.0]" "<f4"
  run "${infer[@]}" --expected tie/wrong.npy
  [ "$status" -eq 1 ]
}

@test "expected logits of a deep model: a wrong weight fails by the tolerance, what is within it stays UNVERIFIED" {
  mkdir vgg
  "$SPDNN" generate model --family vgg8 --sparsity 0.9 --seed 2 --out vgg/model.safetensors
  "$SPDNN" generate tensors --shape 2,1,28,28 --seed 9 --out vgg/images.npy
  infer=("$SPDNN" infer --model vgg/model.safetensors --inputs vgg/images.npy --progress never --logits found.npy)
  "${infer[@]}" --variant conv_reference
  mv found.npy vgg/logits.npy
  run "${infer[@]}" --expected vgg/logits.npy --json run.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED"*"says little"*"within the tolerance, "*" of it, which proves nothing"* ]]
  jq -e '.expected.beyond == 0 and .expected.largest_deviation < .expected.tolerance and .expected.largest_excess < 1' run.json
  # The sign of the largest weight of a convolution. The architecture names the digest of the weights as they were.
  jq 'del(.weights)' vgg/architecture.json >new.json && mv new.json vgg/architecture.json
  /usr/bin/python3 -c "
import json, numpy, struct
data = bytearray(open('vgg/model.safetensors', 'rb').read())
start = 8 + struct.unpack('<Q', data[:8])[0]
begin, end = json.loads(data[8:start])['conv2.weight']['data_offsets']
values = numpy.frombuffer(bytes(data), '<f4', (end - begin) // 4, start + begin)
data[start + begin + 4 * int(numpy.abs(values).argmax()) + 3] ^= 0x80
open('vgg/model.safetensors', 'wb').write(data)"
  run "${infer[@]}" --expected vgg/logits.npy --json run.json
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"but off by up to "*" times the tolerance"*"FAILED"*", but "*" times the tolerance"* ]]
  jq -e '.verdict.status == "FAILED" and .expected.outside == 0 and .expected.beyond > 0' run.json
}

@test "labels: accuracy alone proves nothing, with --min-accuracy it passes or fails" {
  "${infer[@]}" --variant conv_reference --predictions labels.npy
  run "${infer[@]}" --labels labels.npy
  [ "$status" -eq 0 ]
  [[ "$output" == *"100.00 % (20 of 20)"*UNVERIFIED* ]]
  run "${infer[@]}" --labels labels.npy --min-accuracy 1
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED (against labels of 20 images"* ]]
  array labels.npy "(20,)" "[0] * 20" "<i8"
  run "${infer[@]}" --labels labels.npy --min-accuracy 0.99
  [ "$status" -eq 1 ]
  [[ "$output" == *FAILED* ]]
}

@test "inputs that do not fit the model are refused: exit code 3, one line, nothing written" {
  array nan.npy "(1, 1, 6, 6)" "[float('nan')] * 36" "<f4"
  array wide.npy "(2, 1, 6, 7)" "[0.5] * 84" "<f4"
  array few.npy "(19,)" "[0] * 19" "<i8"
  array high.npy "(20,)" "[7] * 20" "<i8"
  array logits.npy "(20, 6)" "[0.5] * 120" "<f4"
  refused 3 "spdnn: nan.npy: *" "$SPDNN" infer --model model.safetensors --inputs nan.npy
  refused 3 "spdnn: wide.npy: images of 1 x 6 x 7, expected 1 x 6 x 6*" "$SPDNN" infer --model model.safetensors --inputs wide.npy
  refused 3 "spdnn: absent.npy: *" "$SPDNN" infer --model model.safetensors --inputs absent.npy
  refused 3 "spdnn: absent.onnx: *" "$SPDNN" infer --model absent.onnx --inputs images.npy
  refused 3 "spdnn: few.npy: 19 labels, expected 20*" "${infer[@]}" --labels few.npy
  refused 3 "spdnn: high.npy: *7*" "${infer[@]}" --labels high.npy
  refused 3 "spdnn: logits.npy: an array of 20 x 6, expected *7, for at least one image" "${infer[@]}" --expected logits.npy
  head -c 300 model.safetensors >cut.safetensors
  refused 3 "spdnn: cut.safetensors: *" "$SPDNN" infer --model cut.safetensors --inputs images.npy
  jq '.nodes[2].op = "gelu"' architecture.json >other.json
  mv other.json architecture.json
  refused 3 'spdnn: *relu*gelu*' "${infer[@]}"
}

@test "--compare runs the model as given, too; the host memory is that of model, images and engine" {
  "${infer[@]}" --compare --trials 2 --json run.json >out.txt
  grep -qE '^compared with +--rewrite none by [a-z_]+: infer [0-9.]+ s; [0-9.]+ times as long, 0 of [0-9]+ predictions differ, outputs by at most' out.txt
  jq -e '.compared.rewrites == "none" and .compared.differing == 0 and .compared.infer.median > 0' run.json
  "${infer[@]}" --json run.json >out.txt
  jq -e '.compared == null and .device_state == null' run.json
}

@test "options that do not fit are refused by name: exit code 2, one line, nothing written" {
  for option in "--network net" "--neurons 1024" "--reduce none" "--truth list.tsv" "--categories out.tsv" \
    "--checkpoint file" "--mnist images"; do
    # shellcheck disable=SC2086
    refused 2 "spdnn: ${option%% *} cannot be used with --model" "${infer[@]}" $option
  done
  refused 2 "spdnn: --images cannot be used with --model; --first N takes the first N images of a model" "${infer[@]}" --images 2
  run "$SPDNN" infer --network net --inputs a.tsv b.tsv
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --inputs: expected one file; several are images of a model (--model)" ]
  run "$SPDNN" infer --network net --inputs images.tsv --labels labels.npy
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --labels needs --model" ]
  refused 2 "spdnn: --min-accuracy*labels*" "${infer[@]}" --min-accuracy 0.5
  refused 2 "spdnn: --min-accuracy: 50, expected more than 0*" "${infer[@]}" --labels images.npy --min-accuracy 50
  refused 2 "spdnn: --min-accuracy: 0, expected more than 0*" "${infer[@]}" --labels images.npy --min-accuracy 0
  refused 2 "spdnn: --subtract cannot be used with --mean" "${infer[@]}" --mean 0.5 --subtract 1
  refused 2 "spdnn: --divide: expected no zero" "${infer[@]}" --divide 0
  refused 2 "spdnn: --std: expected no zero" "${infer[@]}" --std 0
  refused 2 "spdnn: --mean: 2 numbers, expected one, or one for each of*" "${infer[@]}" --mean 0.5,0.5
  refused 2 "spdnn: 'nothing' is not a variant for models*" "${infer[@]}" --variant nothing
  refused 2 "spdnn: --precision*fp16*" "${infer[@]}" --precision fp16
  refused 2 "spdnn: --precision: sparse does not compute in 'fp16-sums', but in fp32" "${infer[@]}" --precision fp16-sums --variant sparse
  refused 2 "spdnn: --json images.npy: would overwrite --inputs*" "${infer[@]}" --json images.npy
}

@test "real networks: predictions, accuracy and logits are those that they were exported with" {
  cnn=$root/../shared/data/cnn
  [ -f "$cnn/trained-1.tar.xz" ] || skip "needs ../shared/data/cnn"
  for archive in "$cnn"/trained-*.tar.xz; do tar xJf "$archive"; done
  mnist=$root/../shared/data/mnist
  fashion=/usr/share/datasets/fashion-mnist
  # network, its options, accuracy
  check() {
    local network=$1 accuracy=$2
    shift 2
    for model in "$network/model.onnx" "$network/model.safetensors"; do
      run "$SPDNN" infer --model "$model" --progress never --threads 1 --expected "$network/expected_logits.npy" \
        --min-accuracy "$accuracy" --predictions found.npy --json run.json "$@"
      echo "$output"
      [ "$status" -eq 0 ]
      jq -e '.verdict.status == "PASSED" and .expected.images == 256 and .expected.differing == 0' run.json
    done
  }
  check lenet5-95 0.995 --inputs "$mnist/t10k-images-idx3-ubyte.gz" --divide 255 --labels "$mnist/t10k-labels-idx1-ubyte.gz"
  same_numbers found.npy lenet5-95/predictions.npy
  check textcnn-875 0.9828 --inputs textcnn-875/test_tokens.npy --table textcnn-875/table.npy --divide 16 --labels textcnn-875/test_labels.npy
  same_numbers found.npy textcnn-875/predictions.npy
  [ -d "$fashion" ] || skip "needs the Debian package dataset-fashion-mnist"
  check vgg8-95 0.9 --inputs "$fashion/t10k-images-idx3-ubyte.gz" --subtract 73 --divide 90 \
    --labels "$fashion/t10k-labels-idx1-ubyte.gz" --first 512
}

@test "a real classifier: outputs and nodes are within the bounds of what onnxruntime gave" {
  ocr=$root/../shared/data/cnn/ch_ppocr_mobile_v2.0_cls_infer.onnx
  [ -f "$ocr" ] || skip "needs ../shared/data/cnn"
  # Made by tests/peers/onnxruntime_outputs.sh.
  given=$root/tests/support/ocr_classifier.json
  [ "$(sha256sum <"$ocr" | cut -d ' ' -f 1)" = "$(jq -r .sha256 "$given")" ]
  shape=$(jq -r .images.shape "$given")
  "$SPDNN" generate tensors --shape "$shape" --seed "$(jq .images.seed "$given")" --out inputs.npy
  /usr/bin/python3 -c "
import json, numpy
given = json.load(open('$given'))
numpy.save('outputs.npy', numpy.array(given['values'], '<f4').reshape(given['shape']))"
  for rewrite in all none; do
    run "$SPDNN" infer --model "$ocr" --shape "N,${shape#*,}" --rewrite $rewrite --inputs inputs.npy --expected outputs.npy --verify all \
      --progress never --json run.json
    echo "$output"
    [ "$status" -eq 0 ]
    # The bounds of a network this deep are loose: the differences are a few roundings of fp32.
    jq -e '.verdict.status == "PASSED" and .expected.images == 8 and .expected.outside == 0 and .expected.differing == 0
      and .expected.largest_deviation < 1e-5' run.json
  done
}

@test "an ONNX file: ONNX's own test of a convolution gives the outputs that it expects" {
  conformance=/usr/share/libonnx-testdata/data/pytorch-converted/test_Conv2d
  [ -d "$conformance" ] || skip "needs the Debian package libonnx-testdata"
  # Each tensor's numbers are the last bytes of its file.
  /usr/bin/python3 -c "
import numpy
for name, shape in (('input', (2, 3, 7, 5)), ('output', (2, 4, 5, 4))):
    numbers = open('$conformance/test_data_set_0/' + name + '_0.pb', 'rb').read()[-4 * numpy.prod(shape):]
    numpy.save(name + '.npy', numpy.frombuffer(numbers, '<f4').reshape(shape))"
  run "$SPDNN" infer --model "$conformance/model.onnx" --inputs input.npy --expected output.npy --verify all --progress never
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED (against output.npy on all 2 images"*"the reference in fp64 on all 2 images"* ]]
  run "$SPDNN" infer --model "$conformance/model.onnx" --inputs input.npy --expected input.npy
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: input.npy: an array of 2 x 3 x 7 x 5, expected N x 4 x 5 x 4, for at least one image" ]]
}

@test "inspect: the nodes of a model, their weights and multiply-adds, and who takes it" {
  run "$SPDNN" inspect model.safetensors --json model.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"N x 1 x 6 x 6"*"convolution"*"max pool"*"total"*"conv_reference   supports it"* ]]
  # 4 filters of 9 weights at 36 places, and 7 rows of 36.
  jq -e '(.nodes | length) == 6 and .weights == 288 and .multiply_adds.dense == 4 * 9 * 36 + 7 * 36
    and .multiply_adds.sparse < .multiply_adds.dense and .nodes[0].row_nonzeros.max <= 9 and .variants[0].why_not == null' model.json
  run "$SPDNN" inspect model.safetensors --shape N,1,8,8
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --shape: "*"flat"* ]]
  run "$SPDNN" inspect absent.onnx
  [ "$status" -eq 3 ]
  ocr=$root/../shared/data/cnn/ch_ppocr_mobile_v2.0_cls_infer.onnx
  [ -f "$ocr" ] || skip "needs ../shared/data/cnn"
  run "$SPDNN" inspect "$ocr"
  [ "$status" -eq 3 ]
  [[ "$output" == *"give the shape of the input" ]]
  run "$SPDNN" inspect "$ocr" --shape N,3,48,192
  [ "$status" -eq 0 ]
}

@test "report shows runs of models in a table of their own" {
  "${infer[@]}" --verify all --json run.json >out
  "${infer[@]}" --precision fp64 --json second.json >out
  run "$SPDNN" report run.json second.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"2 runs of models by"*"is verified."*"## Models"*"model.safetensors"*"PASSED"*"UNVERIFIED"* ]]
  jq -c '.images_per_second *= 2' run.json >wrong.json
  run "$SPDNN" report wrong.json
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: wrong.json:1:"*"images_per_second"* ]]
}

@test "generate model: the same seed gives the same files, as sparse as asked for, that run" {
  mkdir one two
  for directory in one two; do
    "$SPDNN" generate model --family lenet5 --sparsity 0.95 --seed 3 --out $directory/model.safetensors
  done
  cmp one/model.safetensors two/model.safetensors
  cmp one/architecture.json two/architecture.json
  "$SPDNN" generate model --family lenet5 --sparsity 0.95 --seed 4 --out two/model.safetensors
  run cmp -s one/model.safetensors two/model.safetensors
  [ "$status" -eq 1 ]
  run "$SPDNN" inspect one/model.safetensors --json inspected.json
  # 500, 25000, 400000 and 5000 weights; the first layer is dense.
  jq -e '[.nodes[] | select(.weights > 0) | .nonzeros] == [500, 1250, 20000, 250]' inspected.json
  array digits.npy "(4, 28, 28)" "[i % 7 / 7 for i in range(4 * 28 * 28)]" "<f4"
  run "$SPDNN" infer --model one/model.safetensors --inputs digits.npy --verify all --progress never
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *PASSED* ]]
  mkdir other
  cp architecture.json other
  run "$SPDNN" generate model --family vgg8 --out other/model.safetensors
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: other/architecture.json: belongs to another model"* ]]
  cmp architecture.json other/architecture.json
  for options in "--family resnet" "--family vgg8 --sparsity 1" "--family vgg8 --sparsity -0.1" "--family vgg8 --seed x"; do
    # shellcheck disable=SC2086
    run "$SPDNN" generate model $options --out one/model.safetensors
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
  done
}

@test "generate model: every family, or a usage error; a list of sparsities, shapes and classes" {
  mkdir random
  run "$SPDNN" generate model --family random --sparsity 0.7 --seed 4 --out random/model.safetensors
  [ "$status" -eq 0 ]
  "$SPDNN" generate tensors --shape 3,3,12,10 --seed 9 --out random/images.npy
  "$SPDNN" generate tensors --shape 3,3,12,10 --seed 9 --out random/again.npy
  cmp random/images.npy random/again.npy
  run "$SPDNN" infer --model random/model.safetensors --inputs random/images.npy --verify all --progress never
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *PASSED* ]]
  mkdir vgg
  "$SPDNN" generate model --family vgg16 --shape 1,32,32 --classes 3 --sparsity 0.99 --rows uniform --out vgg/m.safetensors
  run "$SPDNN" inspect vgg/m.safetensors --json vgg/inspected.json
  jq -e '[.nodes[] | select(.weights > 0)] | length == 16 and (.[1:] | all(.row_nonzeros.min == .row_nonzeros.max))' vgg/inspected.json
  mkdir lenet
  "$SPDNN" generate model --family lenet5 --sparsity 0.5,0.9,0.99,0 --out lenet/m.safetensors
  "$SPDNN" inspect lenet/m.safetensors --json lenet/inspected.json
  jq -e '[.nodes[] | select(.weights > 0) | .nonzeros] == [250, 2500, 4000, 5000]' lenet/inspected.json
  mkdir none
  usage_error() {
    run "$SPDNN" generate "$@"
    echo "$output"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [ "$(ls none)" = "" ]
  }
  usage_error model --family lenet5 --sparsity 0.5,0.9 --out none/m.safetensors
  usage_error model --family lenet5 --shape 1,4,4 --out none/m.safetensors
  usage_error model --family lenet5 --shape N,1,28,28 --out none/m.safetensors
  usage_error model --family lenet5 --rows even --out none/m.safetensors
  usage_error model --family lenet5 --out none/m.tflite
  usage_error tensors --shape N,3 --out none/x.npy
  usage_error tensors --shape 2,0 --out none/x.npy
  usage_error models --family lenet5
}

@test "generate model: a disk that is full leaves what was there" {
  mkdir full
  "$SPDNN" generate model --family lenet5 --out full/m.safetensors
  cp -r full before
  for trap in '' "trap '' XFSZ;"; do
    run bash -c "$trap ulimit -f 100; '$SPDNN' generate model --family lenet5 --seed 2 --out full/m.safetensors"
    echo "$output"
    [ "$status" -ne 0 ]
    diff -r full before
  done
}

@test "a run that is killed leaves no output, and what was there before" {
  printf 'before' >logits.npy
  array many.npy "(20000, 1, 6, 6)" "[0.25] * 720000" "<f4"
  "$SPDNN" infer --model model.safetensors --inputs many.npy --batch 1 --trials 1000 --threads 1 --progress never --logits logits.npy \
    --predictions predictions.npy --json run.json >out &
  sleep 1
  kill -TERM $!
  wait $! || status=$?
  [ "$status" -eq 143 ]
  [ "$(cat logits.npy)" = before ]
  [ ! -e predictions.npy ] && [ ! -e run.json ]
  [ "$(find . -name '.*.npy*' -o -name '*.tmp*' | wc -l)" -eq 0 ]
}

@test "runs that need more than the machine has are refused: memory, a GPU" {
  refused 4 "spdnn: --host-memory: *" "${infer[@]}" --host-memory 100
  if ! "$SPDNN" --version | grep -q 'CUDA: *[0-9]'; then refused 2 "spdnn: --device: *CUDA*" "${infer[@]}" --device cuda; fi
}
