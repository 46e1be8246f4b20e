#!/usr/bin/env bats
# Justified verdicts: every requested comparison is made, nothing is claimed about an empty or another problem, and a stored
# plan runs.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  shared=$BATS_TEST_DIRNAME/../../../shared/data
}

# Makes a network of one layer on which fp32 and fp64 differ: image 1 of three adds up to the bias, and dies only by
# rounding.
make_rounding_network() {
  mkdir net
  printf '1\t1\t0.1\n2\t1\t0.1\n3\t1\t0.1\n' >net/n4-l1.tsv
  printf '1\t1\t1\n1\t2\t1\n1\t3\t1\n' >images.tsv
  infer=("$SPDNN" infer --network net --bias -0.300000003 --inputs images.tsv --images 3 --variant cpu_openmp)
}

make_radixnet() {
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 6 --degree 16 --bias -0.2 --out r.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 200 --seed 3 --out i.spdnn
}

@test "verdicts: a list does not switch the recomputation off, nor the other way round" {
  make_rounding_network
  printf '\n' >none.tsv
  printf '1\n' >one.tsv
  run "${infer[@]}" --truth none.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 0 categories, missing 0, extra 0 (against none.tsv)"* ]]
  for verify in all 3 2; do
    run "${infer[@]}" --truth none.tsv --verify $verify
    [ "$status" -eq 1 ]
    [[ "$output" == *"FAILED: 0 categories, missing 1, extra 0 (against cpu_reference on "*", though not against none.tsv)"* ]]
  done
  run "${infer[@]}" --truth one.tsv --verify all
  [ "$status" -eq 1 ]
  [[ "$output" == *"FAILED: 0 categories, missing 1, extra 0 (against one.tsv and cpu_reference on all images)"* ]]
  run "${infer[@]}" --precision fp64 --truth one.tsv --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 1 category, missing 0, extra 0 (against one.tsv and cpu_reference on all images)"* ]]
  run "${infer[@]}" --precision fp64 --truth one.tsv --verify 2
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 1 category, missing 0, extra 0 (against one.tsv and cpu_reference on 2 of 3 images, a sample)"* ]]
}

@test "verdicts: the official digest is looked at beside a list" {
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  infer=("$SPDNN" infer --generate official --neurons 1024 --layers 120 --mnist "$mnist")
  run "${infer[@]}" --categories right.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 1812 categories"*"(against the official category list's digest)"* ]]
  run "${infer[@]}" --truth right.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"(against right.tsv and the official category list's digest)"* ]]
  sed 1d right.tsv >wrong.tsv
  run "${infer[@]}" --truth wrong.tsv
  [ "$status" -eq 1 ]
  [[ "$output" == *"FAILED: 1812 categories, missing 0, extra 1 (against wrong.tsv, though not against the official category list's digest)"* ]]
}

@test "verdicts: an empty problem is unverified and says why; a list that names images of it fails" {
  make_radixnet
  printf '\n' >sparse-images-64.tsv
  printf '3\n' >three.tsv
  "$SPDNN" convert sparse-images-64.tsv empty.mtx
  "$SPDNN" convert empty.mtx empty.spdnn --kind images
  [ "$(sed -n 2p empty.mtx)" = "0 64 0" ]
  for images in sparse-images-64.tsv empty.mtx empty.spdnn; do
    for truth in "" "--verify all" "--verify 5" "--truth sparse-images-64.tsv" "--truth sparse-images-64.tsv --verify all"; do
      # shellcheck disable=SC2086  # words are meant
      run "$SPDNN" infer --network r.spdnn --inputs $images $truth --json run.json
      [ "$status" -eq 0 ]
      [[ "$output" == *"UNVERIFIED: 0 categories (against nothing: there are no images)"* ]]
      jq -e '.problem.images == 0 and .rate == 0 and .verdict.status == "UNVERIFIED"' run.json
    done
    run "$SPDNN" infer --network r.spdnn --inputs $images --truth three.tsv
    [ "$status" -eq 1 ]
  done
}

@test "verdicts: a network without edges is unverified, a blank list for a problem with edges is legal" {
  mkdir bare net
  printf '\n' >bare/n4-l1.tsv
  printf '1\t1\t1\n' >net/n4-l1.tsv
  printf '1\t2\t1\n' >images.tsv
  printf '\n' >blank.tsv
  run "$SPDNN" infer --network bare --neurons 4 --bias -1 --inputs images.tsv --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED: 0 categories (against nothing: the network has no edges)"* ]]
  run "$SPDNN" infer --network net --bias -1 --inputs images.tsv --truth blank.tsv --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 0 categories"* ]]
}

@test "verdicts: rates count images with a non-zero, and the report says how many have none" {
  make_radixnet
  printf '%d\t7\t1\n' $(seq 200) >sparse-images-64.tsv
  "$SPDNN" infer --network r.spdnn --inputs sparse-images-64.tsv --json plain.json >plain.txt
  "$SPDNN" infer --network r.spdnn --inputs sparse-images-64.tsv --images 5000 --json padded.json >padded.txt
  rate='.rate * .seconds.infer.median / .problem.edges | round'
  [ "$(jq "$rate" plain.json)" -eq 200 ]
  [ "$(jq "$rate" padded.json)" -eq 200 ]
  [ "$(jq '.rate_end_to_end * .seconds.total / .problem.edges | round' padded.json)" -eq 200 ]
  jq -e '.problem.empty_images == 0' plain.json
  jq -e '.problem.images == 5000 and .problem.empty_images == 4800' padded.json
  grep -q '200 images, ' plain.txt
  grep -qF '5000 images (4800 of them empty), ' padded.txt
}

@test "verdicts: a plan with merge is stored, run and gives the same categories" {
  make_radixnet
  passes=twins,unused,merge,saturated,dead,identical
  "$SPDNN" convert r.spdnn p.spdnn --plan $passes
  "$SPDNN" infer --network r.spdnn --inputs i.spdnn --categories made.tsv --reduce none
  run "$SPDNN" infer --network p.spdnn --inputs i.spdnn --categories stored.tsv --reduce $passes --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"$passes"*"the plan was stored with the network"*PASSED* ]]
  [ -s made.tsv ]
  cmp made.tsv stored.tsv
  run "$SPDNN" infer --network p.spdnn --inputs i.spdnn --reduce all --verify all
  [ "$status" -eq 0 ]
  [[ "$output" != *"the plan was stored"* ]]
}

@test "verdicts: the official network's plan with merge is stored and gives the official categories" {
  [ -f "$shared/official/official-1024-l120.tar.xz" ] || skip "needs ../shared/data/official"
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  tar xJf "$shared/official/official-1024-l120.tar.xz"
  passes=twins,unused,merge,saturated,dead,identical
  "$SPDNN" convert neuron1024 p.spdnn --plan $passes
  run "$SPDNN" infer --network p.spdnn --mnist "$mnist" --reduce $passes \
    --truth "$shared/official/neuron1024-l120-categories.tsv"
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"merge"*"the plan was stored"*"PASSED: 1812 categories, missing 0, extra 0 (against "*"the official category list's digest)"* ]]
}

@test "verdicts: passes that do not exist or do not fit are usage errors, each named by its option" {
  make_radixnet
  run "$SPDNN" convert r.spdnn p.spdnn --plan foo
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --plan: 'foo' is not a pass; expected "* ]]
  [ ! -e p.spdnn ]
  run "$SPDNN" convert nowhere.spdnn p.spdnn --kind network --plan foo
  [ "$status" -eq 2 ]
  run "$SPDNN" infer --network r.spdnn --inputs i.spdnn --reduce foo
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --reduce: 'foo' is not a pass; expected "* ]]
  for batch in auto 10; do
    run "$SPDNN" infer --network r.spdnn --inputs i.spdnn --variant cpu_reference --reduce twins,merge --batch $batch
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: cpu_reference: a merged plan has another order of summation than the given one; cpu_openmp supports any" ]
  done
  run "$SPDNN" inspect r.spdnn --variant cpu_reference --reduce twins,merge
  [ "$status" -eq 2 ]
  run "$SPDNN" infer --network r.spdnn --inputs i.spdnn --device cpu --reduce twins,merge
  [ "$status" -eq 0 ]
  [[ "$output" == *cpu_openmp* ]]
}

@test "verdicts: a path that is not UTF-8 does not lose the JSON line" {
  make_radixnet
  "$SPDNN" infer --network r.spdnn --inputs i.spdnn --categories $'t\xff.tsv'
  run "$SPDNN" infer --network r.spdnn --inputs i.spdnn --truth $'t\xff.tsv' --json j.json
  [ "$status" -eq 0 ]
  jq -e '.verdict.status == "PASSED" and .verdict.against == "t\ufffd.tsv"' j.json
}

@test "verdicts: what convert says of lost parameters works with infer" {
  mkdir differ
  printf '1\t1\t1\n' >differ/n4-l1.tsv
  printf '1\t1\t1\n' >differ/n4-l2.tsv
  printf '%d\t-0.5\n' 1 2 3 4 >differ/n4-l1-bias.tsv
  printf '%d\t-0.25\n' 1 2 3 4 >differ/n4-l2-bias.tsv
  "$SPDNN" generate network --family random --neurons 4 --layers 2 --degree 2 --bias -0.5 --out same.spdnn
  "$SPDNN" convert differ differ.spdnn --cap 16
  printf '1\t1\t1\n' >images.tsv
  for name in differ same; do
    run "$SPDNN" convert $name.spdnn $name-text
    [ "$status" -eq 0 ]
    options=${output##*infer with}
    # shellcheck disable=SC2086  # words are meant
    "$SPDNN" infer --network $name-text $options --inputs images.tsv --json text.json
    "$SPDNN" infer --network $name.spdnn --inputs images.tsv --json packed.json
    [ "$(jq -c '.problem, .alive' text.json)" = "$(jq -c '.problem, .alive' packed.json)" ]
  done
}
