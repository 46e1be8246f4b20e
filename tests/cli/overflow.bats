#!/usr/bin/env bats
# Sums beyond the largest number: noticed, named in the report, never PASSED.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir huge
  printf '1\t1\t3e38\n2\t1\t3e38\n' >huge/n2-l1.tsv
  printf '1\t1\t1\n' >huge/n2-l2.tsv
  printf '1\t1\t1\n2\t1\t1\n2\t2\t1\n3\t2\t1\n' >images.tsv
  infer=("$SPDNN" infer --network huge --inputs images.tsv --bias=-0.25 --progress never)
}

@test "a sum beyond fp32 is named in the report, with its layer and images" {
  run "${infer[@]}" --cap none --variant cpu_openmp --json run.json
  [ "$status" -eq 0 ]
  [[ "$output" == *$'\n'"overflow         sums of 1 image exceeded fp32, from layer 1 on; first images 2;"* ]]
  jq -e '.overflow == {"images": 1, "layer": 1, "first_ids": [2]}' run.json
  run "${infer[@]}" --cap none --variant cpu_openmp --precision fp64 --json run.json
  [ "$status" -eq 0 ]
  [[ "$output" != *overflow* ]]
  jq -e '.overflow == null' run.json
}

@test "what a cap hides has overflowed all the same, and nothing verifies it" {
  printf '1\n2\n3\n' >right.tsv
  run "${infer[@]}" --variant cpu_openmp --truth right.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"sums of 1 image exceeded fp32"*"UNVERIFIED: 3 categories, missing 0, extra 0 (against right.tsv, but sums overflowed)"* ]]
  run "${infer[@]}" --variant cpu_openmp --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED: 3 categories, missing 0, extra 0"* ]]
  printf '1\n2\n' >wrong.tsv
  run "${infer[@]}" --variant cpu_openmp --truth wrong.tsv
  [ "$status" -eq 1 ]
  [[ "$output" == *"sums of 1 image exceeded fp32"*FAILED* ]]
  run "${infer[@]}" --variant cpu_openmp --precision fp64 --truth right.tsv
  [[ "$output" == *PASSED* ]]
}

@test "a cap or a bias that is 0 or infinite in fp32 is refused, and fp64 takes it" {
  mkdir plain
  printf '1\t1\t1\n2\t2\t1\n1\t3\t1\n' >plain/n3-l1.tsv
  plain=("$SPDNN" infer --network plain --inputs images.tsv --progress never --device cpu --verify all)
  refuse() {
    run "${plain[@]}" "${@:2}"
    echo "$output"
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: --precision: plain: $1 fp32; expected fp64" ]
    run "${plain[@]}" "${@:2}" --precision fp64
    [ "$status" -eq 0 ]
  }
  refuse 'a cap of 1e-46 is 0 in' --cap 1e-46 --bias 0
  refuse 'a cap of 1e+39 is beyond' --cap 1e39 --bias 0
  refuse 'layer 1: a bias of 1e-46 is 0 in' --bias 1e-46 --bias-rule everywhere
  refuse 'layer 1: a bias of -1e+300 is beyond' --bias=-1e300
  printf '1\t-0.5\n2\t-1e-60\n3\t0.5\n' >plain/n3-l1-bias.tsv
  refuse 'layer 1: a bias of -1e-60 is 0 in'
  rm plain/n3-l1-bias.tsv
  run "${plain[@]}" --cap 1e-45 --bias 1e-45
  [ "$status" -eq 0 ]
}

@test "infinity less infinity is named where the reference disagrees" {
  printf '1\t1\t3e38\n1\t2\t3e38\n2\t1\t3e38\n2\t2\t3e38\n' >huge/n2-l1.tsv
  printf '1\t1\t1\n2\t1\t-1\n' >huge/n2-l2.tsv
  run "${infer[@]}" --cap none --variant cpu_openmp --verify all
  [ "$status" -eq 1 ]
  [[ "$output" == *"overflow         sums of 1 image exceeded fp32, from layer 1 on; first images 2;"*FAILED* ]]
  for precision in fp32 fp64; do
    for passes in none dead all; do
      run "${infer[@]}" --cap none --variant cpu_openmp --precision "$precision" --reduce "$passes"
      [ "$status" -eq 0 ]
      if [ "$precision" = fp32 ]; then [[ "$output" == *"first images 2;"* ]]; else [[ "$output" != *overflow* ]]; fi
    done
  done
}

@test "merge leaves a row alone whose added weights fp32 does not hold" {
  mkdir mo
  printf '1\t1\t2e-38\n1\t2\t2e-38\n' >mo/n1-l1.tsv
  printf '1\t0\n2\t0\n' >mo/n1-l1-bias.tsv
  printf '1\t1\t2e38\n2\t1\t2e38\n' >mo/n1-l2.tsv
  printf '1\t-0.25\n' >mo/n1-l2-bias.tsv
  printf '1\t1\t1\n2\t1\t0.5\n3\t1\t0.01\n4\t1\t0.001\n' >im1.tsv
  for precision in fp32 fp64; do
    run "$SPDNN" infer --network mo --neurons 1,2,1 --inputs im1.tsv --variant cpu_openmp --precision "$precision" \
      --reduce twins,merge --verify all --json run.json
    [ "$status" -eq 0 ]
    [[ "$output" == *"merge is not applied: no neuron has equal terms that fp32 can hold as one"* ]]
    jq -e '.overflow == null and .verdict.status == "PASSED" and .alive == [4, 2]' run.json
  done
}

@test "a weight that all edges share is not multiplied last where the plain sum overflows" {
  mkdir on
  for i in 1 2 3 4; do printf '%s\t1\t0.0009765625\n' "$i"; done >on/n4-l1.tsv
  printf '1\t1\t1\n' >on/n4-l2.tsv
  printf '1\t%d\t3e38\n' 1 2 3 4 >im3.tsv
  run "$SPDNN" infer --network on --neurons 4,1,1 --bias=-2e36 --cap none --inputs im3.tsv --variant cpu_openmp \
    --reduce none --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *PASSED* ]]
}

@test "merge is not applied in a run whose sums may overflow, and says so" {
  mkdir twins
  printf '1\t1\t1\n1\t2\t1\n' >twins/n1-l1.tsv
  printf '1\t1\t2\n2\t1\t2\n' >twins/n1-l2.tsv
  printf '1\t1\t1\n' >ones.tsv
  printf '1\t1\t1e38\n' >bright.tsv
  for images in ones bright; do
    "$SPDNN" infer --network twins --neurons 1,2,1 --bias=-0.25 --cap none --inputs $images.tsv --variant cpu_openmp \
      --reduce twins,merge --json $images.json >$images.txt
  done
  jq -e '.passes == "twins,merge" and .stored_edges == 2' ones.json
  jq -e '.passes == "twins" and .stored_edges == 3' bright.json  # of the plan that ran
  run cat bright.txt
  [[ "$output" == *"merge is not applied in this run: an image has a value outside 0..1"* ]]
  run cat ones.txt
  [[ "$output" != *"not applied"* ]]
}

@test "the report says nothing that differs from run to run with several threads" {
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 30 --degree 16 --bias -0.2 --out net.spdnn
  for i in $(seq 100); do printf '%s\t%s\t1\n' "$i" $((i % 64 + 1)) "$i" $((i * 7 % 64 + 1)); done | sort -u >many.tsv
  sort -n -k1 -k2 many.tsv >sorted.tsv
  "$SPDNN" infer --network net.spdnn --inputs sorted.tsv --variant cpu_openmp --json run.json >run.txt
  jq -e '(has("saturated") or has("identical")) | not' run.json
  run cat run.txt
  [[ "$output" != *" identical,"* ]]
}

@test "numbers of a model beyond fp32 are named in the report, and nothing verifies the run" {
  # A sum of weights 2 and one of weights -1, clipped to 0..6: sums of large pixels overflow, which the clip hides.
  /usr/bin/python3 -c "
import json, numpy, struct
header = json.dumps({'fc.weight': {'dtype': 'F32', 'shape': [2, 2], 'data_offsets': [0, 16]}}).encode()
open('model.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header + struct.pack('<4f', 2, 2, -1, -1))
nodes = [{'op': 'linear', 'name': 'fc', 'inputs': ['input'], 'cin': 2, 'cout': 2, 'bias': False}, {'op': 'relu6', 'name': 'clip', 'inputs': ['fc']}]
json.dump({'name': 'sums', 'input_shape': ['N', 2], 'output': 'clip', 'nodes': nodes}, open('architecture.json', 'w'))
numpy.save('small.npy', numpy.full((3, 2), 3, '<f4'))
numpy.save('large.npy', numpy.full((3, 2), 3e38, '<f4'))
numpy.save('labels.npy', numpy.zeros(3, '<i8'))
numpy.save('logits.npy', numpy.array([[6, 0]] * 3, '<f4'))"
  infer=("$SPDNN" infer --model model.safetensors --variant conv_dense --progress never --json run.json)
  for truth in "--labels labels.npy --min-accuracy 1" "--expected logits.npy" "--labels labels.npy --min-accuracy 1 --expected logits.npy"; do
    # shellcheck disable=SC2086
    run "${infer[@]}" --inputs small.npy $truth
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *"PASSED (against "* && "$output" != *overflow* ]]
    jq -e '.overflow == null' run.json
    # shellcheck disable=SC2086
    run "${infer[@]}" --inputs large.npy $truth
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "$output" == *$'\n'"overflow         numbers may have exceeded fp32 from node 1 \"fc\" (linear) on;"*"UNVERIFIED (against "*", but sums may have overflowed)" ]]
    jq -e '.verdict.status == "UNVERIFIED" and .overflow == "node 1 \"fc\" (linear)"' run.json
  done
}

@test "pixels that are infinite once they are scaled are refused, with their file, image and number" {
  /usr/bin/python3 "$(dirname "$BATS_TEST_FILENAME")/../support/toy_model.py" . 3
  for scale in "--divide 1e-45" "--subtract=-3e38 --divide 1e-3" "--divide=-1e-45"; do
    # shellcheck disable=SC2086
    run "$SPDNN" infer --model model.safetensors --inputs images.npy --progress never --logits out.npy $scale
    echo "$output"
    [ "$status" -eq 3 ]
    [ "${#lines[@]}" -eq 1 ]
    [[ "$output" == "spdnn: images.npy: image 1: number 1 is 0.5"*" and becomes "*"inf when it is scaled, expected a finite fp32 number" ]]
    [ ! -e out.npy ]
  done
}
