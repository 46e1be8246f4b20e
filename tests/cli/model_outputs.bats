#!/usr/bin/env bats
# Models of several outputs: all are run, written, compared and verified; --output chooses.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  /usr/bin/python3 "$root/tests/support/toy_model.py" . 20
  jq 'del(.output) | .outputs = ["pool", "fc"]' architecture.json >two.json && mv two.json architecture.json
  infer=("$SPDNN" infer --model model.safetensors --inputs images.npy --progress never)
}

# refused CODE MESSAGE ARGUMENT...: exit code, one line.
refused() {
  run "${@:3}"
  echo "$output"
  [ "$status" -eq "$1" ]
  [ "$output" = "$2" ]
}

@test "all outputs are written, verified and compared; one wrong number in any of them fails" {
  run "${infer[@]}" --logits all.npz --verify all --batch 7 --json run.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"20; N x 1 x 6 x 6 to pool N x 4 x 3 x 3, fc N x 7"*": 2 outputs"*"pool: largest deviation "*"fc: largest deviation "*PASSED* ]]
  jq -e '.model.named_outputs == [{name: "pool", shape: ["N", 4, 3, 3]}, {name: "fc", shape: ["N", 7]}]
    and [.reference.outputs[].name] == ["pool", "fc"] and .model.outputs == 2' run.json
  run "${infer[@]}" --expected all.npz
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED (against all.npz on all 20 images"* ]]
  for wrong in pool fc; do
    /usr/bin/python3 -c "
import numpy
arrays = dict(numpy.load('all.npz'))
arrays['$wrong'][3].flat[2] += 0.01
numpy.savez('wrong.npz', **arrays)"
    run "${infer[@]}" --expected wrong.npz --verify all --json run.json
    echo "$output"
    [ "$status" -eq 1 ]
    [[ "$output" == *"FAILED"*"(output $wrong of 2)"* ]]
    jq -e '.expected.first_ids == [4] and .expected.outside + .expected.beyond == 1' run.json
  done
}

@test "--output computes those outputs alone, in the order named; a single one is an array of its own" {
  "${infer[@]}" --variant conv_reference --logits all.npz
  "${infer[@]}" --variant conv_reference --output fc --logits fc.npy --predictions classes.npy --json fc.json >out
  "${infer[@]}" --variant conv_reference --output pool --logits pool.npy --json pool.json >out
  "${infer[@]}" --variant conv_reference --output fc --output pool --logits turned.npz
  /usr/bin/python3 -c "
import numpy
both, turned = numpy.load('all.npz'), numpy.load('turned.npz')
assert list(both) == ['pool', 'fc'] and list(turned) == ['fc', 'pool'], (list(both), list(turned))
for name in both:
    assert numpy.array_equal(both[name], turned[name]) and numpy.array_equal(both[name], numpy.load(name + '.npy')), name"
  jq -es '.[0].model.nodes_run == .[1].model.nodes_run + 2 and .[0].classes == 7 and .[1].classes == 0' fc.json pool.json
  run "${infer[@]}" --output fc --expected fc.npy
  [[ "$output" == *"PASSED (against fc.npy on all 20 images"* ]]
  run "${infer[@]}" --output fc --expected all.npz
  [[ "$output" == *"PASSED (against all.npz on all 20 images"* ]]
}

@test "options that do not fit several outputs are refused, with their names" {
  "${infer[@]}" --output fc --logits fc.npy >out
  refused 2 "spdnn: --output: the model has no output 'fd', but pool, fc" "${infer[@]}" --output fd
  refused 2 "spdnn: --logits: the model has 2 outputs (pool, fc): an .npz file takes all of them; --output NAME chooses one" \
    "${infer[@]}" --logits one.npy
  refused 3 "spdnn: fc.npy: one array, but there are 2 outputs (pool, fc): expected an .npz file with an array of each, or one output chosen" \
    "${infer[@]}" --expected fc.npy
  /usr/bin/python3 -c "import numpy; numpy.savez('fc.npz', fc=numpy.load('fc.npy'), other=0)"
  refused 3 "spdnn: fc.npz: has no array 'pool', but fc, other" "${infer[@]}" --expected fc.npz
  [ ! -e one.npy ]
}

@test "every form of a model keeps its outputs" {
  mkdir back
  "${infer[@]}" --variant conv_reference --logits first.npz
  "$SPDNN" convert model.safetensors two.onnx
  "$SPDNN" convert two.onnx two.spdnn
  "$SPDNN" convert two.spdnn back/two.safetensors
  for model in two.onnx two.spdnn back/two.safetensors; do
    "$SPDNN" infer --model "$model" --inputs images.npy --progress never --variant conv_reference --logits found.npz --verify 3
    /usr/bin/python3 -c "
import numpy
first, found = numpy.load('first.npz'), numpy.load('found.npz')
assert list(first) == list(found), (list(first), list(found))
assert all(numpy.array_equal(first[name], found[name]) for name in first)"
  done
  run "$SPDNN" inspect two.spdnn
  [[ "$output" == *"output    N x 4 x 3 x 3  pool"*"output    N x 7  fc"* ]]
}
