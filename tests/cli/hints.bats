#!/usr/bin/env bats
# Messages with hints: names near a wrong one, the option that takes a file, and the conversion of other programs' models.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# small_model: model.onnx and images.npy, which fit one another.
small_model() {
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out model.onnx >made
  "$SPDNN" generate tensors --shape 2,1,28,28 --out images.npy >made
}

# small_network: n.spdnn and i.spdnn.
small_network() {
  "$SPDNN" generate network --family random --neurons 64 --layers 2 --degree 8 --seed 2 --bias -0.1 --out n.spdnn >made
  "$SPDNN" generate inputs --family digits --neurons 64 --images 5 --out i.spdnn >made
}

# says CODE PATTERN ARGUMENT...: spdnn ends with that code and one line that has the pattern.
says() {
  local code=$1 pattern=$2
  shift 2
  run "$SPDNN" "$@"
  echo "$status: $output"
  [ "$status" -eq "$code" ]
  [ "${#lines[@]}" -eq 1 ]
  # shellcheck disable=SC2053  # a pattern
  [[ "$output" == $pattern ]]
}

@test "commands and options that are nearly right are named" {
  says 2 "spdnn: 'infre' is not a command; did you mean infer?; see spdnn --help" infre
  says 2 "spdnn: 'reprot' is not a command; did you mean report?; see spdnn --help" reprot
  says 2 "spdnn: 'xyz' is not a command; see spdnn --help" xyz
  says 2 "spdnn: unrecognised option '--modle'; did you mean --model?*" infer --modle a.onnx
  says 2 "spdnn: unrecognised option '--input'; did you mean --inputs?; usage: *" infer --model a.onnx --input i.npy
  says 2 "spdnn: unrecognised option '--tirals'; did you mean --trials?; usage: *" infer --network a --tirals 3
  says 2 "spdnn: unrecognised option '--neuron'; did you mean --neurons?; usage: *" generate network --neuron 64
  says 2 "spdnn: unrecognised option '--colour'; usage: *" infer --network a --colour
}

@test "help and the version answer to their usual names" {
  "$SPDNN" --help >help
  for name in -h help; do
    # shellcheck disable=SC2086  # words are meant
    "$SPDNN" $name | cmp - help
  done
  "$SPDNN" infer --help >infer
  "$SPDNN" help infer | cmp - infer
  "$SPDNN" --help infer | cmp - infer
  "$SPDNN" infer -h | cmp - infer
  "$SPDNN" --version >version
  "$SPDNN" version | cmp - version
  says 2 "spdnn: 'infre' is not a command; did you mean infer?*" help infre
}

@test "a missing argument has its name in the usage, and models are mentioned" {
  says 2 "spdnn: RESULTS is missing; usage: *" report
  says 2 "spdnn: OUT is missing; usage: *" convert a.tsv
  says 2 "spdnn: give either --network PATH or --generate official; for models, --model MODEL" infer
  says 2 "spdnn: NETWORK or MODEL is missing: *.onnx*" inspect
  says 2 "spdnn: 'x.onnx' is not an option; did you mean --model x.onnx?" infer x.onnx y.npy
  says 2 "spdnn: 'n.tsv' is not an option; usage: *" infer n.tsv
}

@test "networks, models and their inputs point to one another" {
  small_model
  small_network
  says 3 "spdnn: model.onnx: unknown format, *; a model is given as --model" infer --network model.onnx --inputs i.spdnn
  says 3 "spdnn: n.spdnn: holds no model, but a network or images; omit --model" \
    infer --model n.spdnn --inputs images.npy
  says 3 "spdnn: images.npy: unknown format, *; arrays are inputs of models, given with --model" \
    infer --network n.spdnn --inputs images.npy
  : >t10k-images-idx3-ubyte.gz
  says 3 "spdnn: t10k-images-idx3-ubyte.gz: unknown format, *; --mnist makes inputs from MNIST's images*" \
    infer --network n.spdnn --inputs t10k-images-idx3-ubyte.gz
}

@test "models of other programs are refused with the command that converts them" {
  for name in net.pt net.pth net.ckpt; do
    : >$name
    for command in "infer --inputs i.npy --model $name" "inspect $name" "convert $name out.onnx"; do
      # shellcheck disable=SC2086  # words are meant
      says 3 "spdnn: $name: expected a model, *torch.onnx.export(*" $command
    done
  done
  mkdir saved
  : >saved/saved_model.pb
  : >frozen.pb
  : >net.h5
  : >net.keras
  says 3 "spdnn: saved: expected a model, *python -m tf2onnx.convert --saved-model *TFLiteConverter*" infer --model saved --inputs i.npy
  says 3 "spdnn: saved: expected a model, *--saved-model *" inspect saved
  says 3 "spdnn: frozen.pb: expected a model, *tf2onnx.convert --graphdef *" inspect frozen.pb
  for name in net.h5 net.keras; do
    says 3 "spdnn: $name: expected a model, *tf2onnx.convert --keras *TFLiteConverter*" inspect $name
  done
  says 3 "spdnn: net.doc: expected a model, .onnx, .tflite, .safetensors or .spdnn" infer --model net.doc --inputs i.npy
}

@test "an empty .onnx file is called empty" {
  : >empty.onnx
  says 3 "spdnn: empty.onnx: the file is empty; *" inspect empty.onnx
  says 3 "spdnn: empty.onnx: the file is empty; *" infer --model empty.onnx --inputs i.npy
}

@test "devices, layouts and shapes are taken as people write them" {
  small_model
  small_network
  says 2 "spdnn: --device: 'gpu' is neither auto, cpu nor cuda; did you mean cuda?" \
    infer --model model.onnx --inputs images.npy --device gpu
  says 2 "spdnn: --device: 'GPU' is neither auto, cpu nor cuda; did you mean cuda?" \
    infer --network n.spdnn --inputs i.spdnn --device GPU
  says 2 "spdnn: --device: 'tpu' is neither auto, cpu nor cuda" infer --network n.spdnn --inputs i.spdnn --device tpu
  "$SPDNN" infer --model model.onnx --inputs images.npy --logits expected.npy
  /usr/bin/python3 -c "import numpy; numpy.save('last.npy', numpy.load('images.npy').transpose(0, 2, 3, 1))"
  for layout in nhwc NHWC; do
    "$SPDNN" infer --model model.onnx --inputs last.npy --layout $layout --logits found.npy
    cmp expected.npy found.npy
  done
  says 2 "spdnn: --layout: 'NWC' is neither nchw nor nhwc" infer --model model.onnx --inputs last.npy --layout NWC
  for shape in N,1,28,28 Nx1x28x28 "N x 1 x 28 x 28" 2x1x28x28; do
    "$SPDNN" infer --model model.onnx --inputs images.npy --shape "$shape" --logits found.npy
    cmp expected.npy found.npy
  done
  says 2 "spdnn: --shape: *" infer --model model.onnx --inputs images.npy --shape 2x1x28xH
}

@test "arrays whose axes are in another order, or that lack one, get different hints" {
  "$SPDNN" generate model --family mobilenet --shape 3,32,40 --sparsity 0.9 --out colour.onnx >made
  /usr/bin/python3 - <<'PY'
import numpy
numpy.save("last.npy", numpy.zeros((2, 32, 40, 3), "float32"))
numpy.save("first.npy", numpy.zeros((2, 3, 32, 40), "float32"))
numpy.save("one.npy", numpy.zeros((3, 32, 40), "float32"))
numpy.save("other.npy", numpy.zeros((2, 3, 30, 40), "float32"))
PY
  expected="images of * as the model takes them"
  says 3 "spdnn: last.npy: $expected; its channels are last, which is layout nhwc" infer --model colour.onnx --inputs last.npy
  says 3 "spdnn: first.npy: $expected; its channels are first, which is layout nchw" \
    infer --model colour.onnx --inputs first.npy --layout nhwc
  says 3 "spdnn: one.npy: $expected; the axis of images, of length 1 for one image, is missing in front" \
    infer --model colour.onnx --inputs one.npy
  says 3 "spdnn: other.npy: $expected" infer --model colour.onnx --inputs other.npy
}

@test "a program that was copied without its plug-ins says so once, in short" {
  small_model
  mkdir alone
  cp "$SPDNN" alone/
  for variant in auto conv_dense; do
    run alone/spdnn infer --model model.onnx --inputs images.npy --variant $variant --verify all
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"variant  "*PASSED* ]]
    [ "$(grep -o 'spdnn_onednn.so is not beside the program' <<<"$output" | wc -l)" -eq 1 ]
  done
  run alone/spdnn infer --model model.onnx --inputs images.npy --precision bf16
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: conv_dense: oneDNN cannot be used; spdnn_onednn.so is not beside the program, where make puts it" ]
}

@test "a plug-in of another build, which may have other types, is refused with exit code 4" {
  small_model
  mkdir other
  cp -L "$SPDNN" other/spdnn
  cat >plugin.c <<'END'
static const struct { const char *build; } functions = {"spdnn 0.1.0 (commit abc, headers def)"};
const void *spdnn_onednn_functions_2(void) { return &functions; }
END
  "${CXX:-c++}" -x c -shared -fPIC -o other/spdnn_onednn.so plugin.c
  for variant in auto conv_dense; do
    run other/spdnn infer --model model.onnx --inputs images.npy --variant $variant
    echo "$output"
    [ "$status" -eq 4 ]
    [[ "$output" == "spdnn: "*"/other/spdnn_onednn.so: built with spdnn 0.1.0 (commit abc, headers def), but this program is spdnn "*"; make builds both" ]]
  done
}
