#!/usr/bin/env bats
# spdnn infer on small networks: results, verdicts, exit codes, files written.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  # Two inputs, two layers of two neurons; image 1 = {1}, image 2 = {2}, image 3 = {1, 2}.
  mkdir net
  printf '1\t1\t1\n2\t2\t1\n' >net/n2-l1.tsv
  printf '1\t1\t1\n1\t2\t1\n' >net/n2-l2.tsv
  printf '1\t1\t1\n2\t2\t1\n3\t1\t1\n3\t2\t1\n' >images.tsv
  infer=("$SPDNN" infer --network net --inputs images.tsv --progress never)
}

@test "categories of a network small enough to check by hand" {
  run "${infer[@]}" --bias -0.25 --categories out.tsv
  [ "$status" -eq 0 ]
  [ "$(cat out.tsv)" = $'1\n3' ] # image 2 feeds neuron 2, which nothing reads
  [[ "$output" == *UNVERIFIED* ]]
}

@test "--deal: one of three words, and no counter with a checkpoint" {
  run "${infer[@]}" --bias -0.25 --deal counter
  [ "$status" -eq 0 ]
  run "${infer[@]}" --bias -0.25 --deal even
  [ "$status" -eq 2 ]
  [[ "$output" == *"--deal: 'even' is none of auto, fixed, counter"* ]]
  run "${infer[@]}" --bias -0.25 --deal counter --checkpoint c
  [ "$status" -eq 2 ]
  [[ "$output" == *"--deal: a run with a checkpoint has fixed shares"* ]]
}

@test "a true list passes, a wrong one fails with exit code 1 and names the images" {
  printf '1\n3\n' >right.tsv
  printf '1\n2\n' >wrong.tsv
  run "${infer[@]}" --bias -0.25 --truth right.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 2 categories, missing 0, extra 0"* ]]
  run "${infer[@]}" --bias -0.25 --truth wrong.tsv
  [ "$status" -eq 1 ]
  [[ "$output" == *"FAILED: 2 categories, missing 1, extra 1"*"first wrong images 2 3"* ]]
}

@test "--verify all passes against cpu_reference; a sample leaves the run unverified" {
  run "${infer[@]}" --bias -0.25 --verify all
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED"*"cpu_reference on all images"* ]]
  run "${infer[@]}" --bias -0.25 --verify 2
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED"*"cpu_reference on 2 of 3 images"* ]]
}

@test "every variant and reduction gives the same categories" {
  for variant in $("$SPDNN" variants | awk 'NR > 1 && $2 == "cpu" { print $1 }'); do
    for reduce in all dead none twins,dead unused,identical; do
      run "${infer[@]}" --bias -0.25 --variant "$variant" --reduce "$reduce" --categories out.tsv
      [ "$status" -eq 0 ]
      [ "$(cat out.tsv)" = $'1\n3' ]
    done
  done
}

@test "the JSON line carries what was asked and what came out" {
  "${infer[@]}" --bias -0.25 --trials 3 --compare --json run.json >/dev/null
  [ "$(wc -l <run.json)" -eq 1 ]
  jq -e '.schema == "spdnn-run-1" and .problem.images == 3 and .problem.edges == 4 and .problem.bias == "-0.25"
    and .trials == 3 and .verdict.status == "UNVERIFIED" and .verdict.categories == 2 and .verdict.missing == null
    and (.alive | length) == 2 and .compared.same_categories and .rate > 0
    and .seconds.infer.min <= .seconds.infer.median and .machine.ranks == 1' run.json
}

@test "the phases do not overlap and sum up to the total" {
  "$SPDNN" convert images.tsv images.spdnn --kind images --neurons 2
  "$SPDNN" infer --network net --inputs images.spdnn --bias -0.25 --trials 3 --warm-up 1 --json run.json --progress never >run.txt
  jq -e '.seconds | (.load + .read + .plan + .start.waited + .upload + .warm_up + .infer.sum + .gather + .write + .other - .total
    | fabs) < 1e-9 and .load > 0 and .other >= 0 and .upload_images > 0 and .upload_images < .upload and .start.waited <= .total
    and .infer.sum >= .infer.min + .infer.median + .infer.max - 1e-9' run.json
  for phase in load read plan upload warm-up infer gather write other total; do grep -qE "^$phase {1,15} +[0-9.]+ s" run.txt; done
}

@test "nothing is started up for a run on the CPU" {
  for choice in "--device cpu" "--variant cpu_openmp"; do
    # shellcheck disable=SC2086
    "${infer[@]}" --bias -0.25 $choice --json run.json >run.txt
    jq -e '.seconds.start == {"took": 0, "waited": 0}' run.json
    run grep start-up run.txt
    [ "$status" -eq 1 ]
  done
}

@test "errors of the network come before those of the images, whichever are found first" {
  "$SPDNN" convert images.tsv images.spdnn --kind images --neurons 2
  "$SPDNN" convert net net.spdnn --bias -0.25 --plan all
  cp images.spdnn bad-images.spdnn
  printf x | dd of=bad-images.spdnn bs=1 seek=50 conv=notrunc status=none
  head -c 100 net.spdnn >bad-net.spdnn
  run "$SPDNN" infer --network bad-net.spdnn --inputs bad-images.spdnn --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: bad-net.spdnn: "* && "$output" != *$'\n'* ]]
  run "$SPDNN" infer --network net --inputs bad-images.spdnn --progress never
  [ "$status" -eq 2 ]
  [[ "$output" == *"--bias: "*"of official form and has no biases: give one"* ]]
  run "$SPDNN" infer --network net.spdnn --inputs bad-images.spdnn --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: bad-images.spdnn: "*corrupted* ]]
  run "$SPDNN" infer --network net.spdnn --inputs missing.spdnn --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: missing.spdnn: cannot read: No such file or directory" ]]
  run "$SPDNN" infer --network net.spdnn --inputs images.spdnn --images 2 --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: images.spdnn: 3 images, expected at most 2" ]]
  run "$SPDNN" infer --network net.spdnn --inputs images.spdnn --mnist x --progress never
  [ "$status" -eq 2 ]
}

@test "packed images are read and fitted like those in text" {
  "$SPDNN" convert images.tsv images.spdnn --kind images --neurons 2
  run "$SPDNN" infer --network net --inputs images.spdnn --images 7 --bias -0.25 --categories out.tsv --progress never
  [ "$status" -eq 0 ]
  [[ "$output" == *"7 images"* ]]
  [ "$(cat out.tsv)" = $'1\n3' ]
  printf '1\t3\t1\n' >wide.tsv
  "$SPDNN" convert wide.tsv wide.spdnn --kind images --neurons 3
  run "$SPDNN" infer --network net --inputs wide.spdnn --bias -0.25 --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: wide.spdnn: images of 3 neurons, expected 2" ]]
}

@test "a network without a known bias asks for one" {
  run "${infer[@]}"
  [ "$status" -eq 2 ]
  [[ "$output" == *"--bias: "*"of official form and has no biases: give one"* ]]
}

@test "bad options are usage errors that name the option" {
  for bad in "--trials 0" "--batch -1" "--reduce twin" "--variant fast" "--precision fp8" "--cap 0" "--verify some" \
    "--bias x" "--bias-rule sometimes" "--device tpu" "--progress loud"; do
    # shellcheck disable=SC2086
    run "${infer[@]}" --bias -0.25 $bad
    [ "$status" -eq 2 ]
    [[ "$output" == *"${bad%% *}"* || "$output" == *variant* ]]
  done
}

@test "a precision that the variant does not compute in is a usage error" {
  run "${infer[@]}" --bias -0.25 --variant cpu_openmp --precision fp16
  [ "$status" -eq 2 ]
  [[ "$output" == *"--precision: cpu_openmp does not compute in 'fp16', but in fp32 or fp64"* ]]
}

@test "missing files and images that do not fit are data errors" {
  run "$SPDNN" infer --network nowhere --inputs images.tsv --bias 0
  [ "$status" -eq 3 ]
  run "${infer[@]}" --bias -0.25 --truth nowhere.tsv
  [ "$status" -eq 3 ]
  printf '1\t3\t1\n' >wide.tsv
  run "$SPDNN" infer --network net --inputs wide.tsv --bias 0
  [ "$status" -eq 3 ]
  [[ "$output" == *"wide.tsv:1:3"* ]]
}

@test "results that cannot be written are an error, and leave no file" {
  run "${infer[@]}" --bias -0.25 --categories no/such/dir/out.tsv
  [ "$status" -eq 3 ]
  run "${infer[@]}" --bias -0.25 --json /dev/full
  [ "$status" -eq 3 ]
}

@test "an official network of another depth has no official categories" {
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  run "$SPDNN" infer --generate official --neurons 1024 --layers 12 --mnist "$mnist" --progress never
  [ "$status" -eq 0 ]
  [[ "$output" == *"UNVERIFIED: 1824 categories"* ]]
}
