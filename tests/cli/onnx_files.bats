#!/usr/bin/env bats
# ONNX files that cannot be run: exit code 3 and one line, which names the file and what is wrong.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || exit 1
  proto=/usr/include/onnx/onnx.proto
  [ -f "$proto" ] || skip "needs the Debian package libonnx-dev"
  # x (N x 4 x 5 x 5) -> a convolution of two groups, whose weights lie in w.bin -> y.
  cat >whole.txt <<'MODEL'
ir_version: 8
opset_import { version: 17 }
graph {
  name: "net"
  input { name: "x" type { tensor_type { elem_type: 1 shape {
    dim { dim_param: "N" } dim { dim_value: 4 } dim { dim_value: 5 } dim { dim_value: 5 } } } } }
  output { name: "y" }
  initializer { name: "w" data_type: 1 dims: 2 dims: 2 dims: 3 dims: 3 data_location: EXTERNAL
    external_data { key: "location" value: "w.bin" } }
  node { op_type: "Conv" name: "conv" input: "x" input: "w" output: "a" attribute { name: "group" i: 2 type: INT } }
  node { op_type: "Relu" name: "relu" input: "a" output: "y" }
}
MODEL
  mkdir net
  /usr/bin/python3 -c "import struct; open('net/w.bin', 'wb').write(struct.pack('<36f', *range(36)))"
  encode whole.txt net/whole.onnx
}

encode() { protoc --proto_path="$(dirname "$proto")" --encode=onnx.ModelProto "$proto" <"$1" >"$2"; }

# refused MESSAGE FILE [OPTIONS]: the message is a pattern.
refused() {
  local pattern=$1 file=$2
  shift 2
  for command in "inspect $file" "infer --model $file --inputs $root/README.md --logits logits.npy"; do
    # shellcheck disable=SC2086
    run "$SPDNN" $command "$@"
    echo "$command: $output"
    [ "$status" -eq 3 ]
    [ "${#lines[@]}" -eq 1 ]
    # shellcheck disable=SC2053
    [[ "$output" == "spdnn: $file: "$pattern ]]
    [ ! -e logits.npy ]
  done
}

# changed MESSAGE SED: the file with its text changed by the script.
changed() {
  sed "$2" whole.txt >changed.txt
  run cmp -s whole.txt changed.txt
  [ "$status" -eq 1 ]
  encode changed.txt net/changed.onnx
  refused "$1" net/changed.onnx
}

@test "the whole file is read" {
  run "$SPDNN" inspect net/whole.onnx
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "versions of the format and of the operators that are out of range" {
  for version in 2 11 99; do
    changed "version $version of the format (IR) is outside 3..10" "s/ir_version: 8/ir_version: $version/"
  done
  for version in 0 22 1000; do
    changed "operator set $version is outside 1..21" "s/version: 17/version: $version/"
  done
  changed "it names no version of ONNX's operator set" '/opset_import/d'
  changed "not an ONNX file: it has no version or no graph" '/ir_version/d'
}

@test "graphs that are none" {
  changed "node 'conv' (Conv): it depends on its own output: the graph has a cycle" 's/input: "x" input: "w"/input: "y" input: "w"/'
  changed "node 'relu' (Relu): input 'b' is neither made by a node nor an input or initializer" 's/input: "a"/input: "b"/'
  changed "node 'conv' (Conv): input 'v' is neither*" 's/input: "w"/input: "v"/'
  changed "no node makes output 'z'" 's/output { name: "y" }/output { name: "z" }/'
  changed "node 'relu' (Relu): output 'a' is also made by node 'conv' (Conv)" 's/input: "a" output: "y"/input: "x" output: "a"/'
}

@test "attributes and shapes that do not fit" {
  changed "node 'conv' (Conv): attribute group: 3 does not divide the 2 output channels" 's/i: 2/i: 3/'
  changed "node 'conv' (Conv): attribute group: the weights are for 1 groups of 2 channels, but the input has 4 channels" 's/i: 2/i: 1/'
  changed "node 'conv' (Conv): attribute groups: not supported; supported attributes: *group*" 's/"group"/"groups"/; s/dim_value: 4/dim_value: 2/'
  changed "node 'relu' (Einsum): the operator is not supported; supported operators: Abs,*" 's/"Relu"/"Einsum"/'
  changed "input 'x': axes 2 ('H'), 3 ('W') of N x 4 x H x W have no fixed length; give the shape of the input" \
    's/dim { dim_value: 5 } dim { dim_value: 5 }/dim { dim_param: "H" } dim { dim_param: "W" }/'
  changed "input 'x': axis 3 ('?') of N x 4 x 5 x ? has no fixed length; give the shape of the input" \
    's/dim { dim_value: 5 } }/dim { } }/'
}

@test "all nodes that are not supported are named at once, by kind" {
  changed "3 nodes are not supported: 2 Einsum, the first node 'one'; 1 Resize, node 'other': attribute mode: 'area' is not supported; expected nearest, linear or cubic; supported operators: Abs,*" '
    s/input: "a" output: "y" }/input: "e" output: "y" }/
    $i\  node { op_type: "Einsum" name: "one" input: "a" output: "b" }
    $i\  node { op_type: "Einsum" name: "two" input: "b" output: "c" }
    $i\  node { op_type: "Resize" name: "other" input: "a" output: "d" attribute { name: "mode" s: "area" type: STRING } }
    $i\  node { op_type: "Add" name: "sum" input: "c" input: "d" output: "e" }'
}

@test "external data that are missing, too short, or outside the folder" {
  cp net/w.bin outside.bin
  ln -s ../outside.bin net/link.bin
  ln -s .. net/up
  for location in ../outside.bin link.bin up/outside.bin "$PWD/outside.bin"; do
    changed "initializer 'w': external data: '$location' lies outside the folder of the model" "s,w\\.bin,$location,"
  done
  changed "initializer 'w': external data: *none.bin: cannot read*" 's/w\.bin/none.bin/'
  changed "initializer 'w': external data: *is a directory*" 's/w\.bin/./'
  truncate -s 143 net/w.bin
  refused "initializer 'w': external data: bytes 0 to 144 lie beyond the 143 of 'w.bin'" net/whole.onnx
}

@test "files that end early" {
  files=(net/whole.onnx)
  ocr=$root/../shared/data/cnn/ch_ppocr_mobile_v2.0_cls_infer.onnx
  [ ! -f "$ocr" ] || files+=("$ocr")
  for file in "${files[@]}"; do
    size=$(stat -c %s "$file")
    for part in $(seq 0 49); do
      head -c $((size * part / 50)) "$file" >net/part.onnx
      run "$SPDNN" inspect net/part.onnx --shape N,3,48,192
      echo "$part/50 of $file: $output"
      [ "$status" -eq 3 ]
      [ "${#lines[@]}" -eq 1 ]
      [[ "$output" == "spdnn: net/part.onnx: "* ]]
    done
  done
}
