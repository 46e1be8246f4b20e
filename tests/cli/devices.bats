#!/usr/bin/env bats
# Devices that exist and devices that do not; timing of layers.

has_cuda() { "$SPDNN" --version | grep -q '^CUDA: *yes'; }
has_device() { has_cuda && command -v nvidia-smi >/dev/null && nvidia-smi >/dev/null 2>&1; }

small_run() {
  run "$SPDNN" infer --network net --inputs images.tsv --bias -0.5 --progress never "$@"
}

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir net
  printf '1\t1\t1\n2\t2\t1\n' >net/n2-l1.tsv
  printf '1\t1\t1\n2\t2\t1\n' >images.tsv
}

@test "a CUDA variant in a program without CUDA names the build option" {
  if has_cuda; then skip "this program has CUDA"; fi
  small_run --variant cusparse_spmm
  [ "$status" -eq 2 ]
  [[ "$output" == *"'cusparse_spmm' needs CUDA"*"make GPU=1"* ]]
  small_run --device cuda
  [ "$status" -eq 2 ]
  [[ "$output" == *"built without CUDA: make GPU=1"* ]]
}

@test "--device-state adds nothing to the report of a run on the CPU" {
  small_run --device cpu --device-state --json run.json
  [ "$status" -eq 0 ]
  [[ "$output" != *"device state"* ]]
  jq -e 'has("device_state") and .device_state == null and has("suite") and .suite == null' run.json
}

@test "without a driver or device, a CUDA variant says so and auto runs on the CPU" {
  if ! has_cuda; then skip "this program has no CUDA"; fi
  if has_device; then skip "there is a device"; fi
  small_run --variant cusparse_spmm
  [ "$status" -eq 4 ]
  [[ "$output" == *"no NVIDIA driver"* || "$output" == *"no CUDA device"* ]]
  small_run --device cuda
  [ "$status" -eq 4 ]
  small_run --device auto
  [ "$status" -eq 0 ]
  [[ "$output" == *cpu_* ]]
}

@test "a driver that is too old, or has no device, is named" {
  if ! has_cuda; then skip "this program has no CUDA"; fi
  cc -shared -fPIC -o libcuda.so.1 "$BATS_TEST_DIRNAME/../support/fake_cuda.c"
  for command in "infer --network net --inputs images.tsv --bias -0.5" "bench conv --table vgg16"; do
    # shellcheck disable=SC2086  # an option and its value
    LD_LIBRARY_PATH=$PWD FAKE_CUDA=12040 run "$SPDNN" $command --device cuda
    [ "$status" -eq 4 ]
    [[ "$output" == "spdnn: "*"the NVIDIA driver speaks CUDA 12.4, this program needs "*" or later" ]]
  done
  LD_LIBRARY_PATH=$PWD FAKE_CUDA=99000 run "$SPDNN" bench conv --table vgg16 --device cuda
  [ "$status" -eq 4 ]
  [ "$output" = "spdnn: no CUDA device is visible" ]
  LD_LIBRARY_PATH=$PWD FAKE_CUDA=12040 small_run --device auto
  [ "$status" -eq 0 ]
  [[ "$output" == *cpu_* ]]
}

@test "names of kernels are checked before the device" {
  if ! has_cuda; then skip "this program has no CUDA"; fi
  for wrong in "--kernels dense" "--with uniform"; do
    # shellcheck disable=SC2086  # an option and its value
    run "$SPDNN" bench conv --table vgg16 --device cuda $wrong
    [ "$status" -eq 2 ]
    [[ "$output" == "spdnn: ${wrong% *}: '${wrong#* }' is not one of conv_"* || "$output" == *"is not one of direct, "* ]]
  done
}

@test "a planning device is asked for by name, and must be there" {
  "$SPDNN" convert net net.spdnn --bias -0.5
  for command in "infer --inputs images.tsv --network net.spdnn" "inspect --network net.spdnn" "convert net.spdnn out.spdnn --plan all"; do
    # shellcheck disable=SC2086
    run "$SPDNN" $command --plan-device gpu
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: --plan-device: 'gpu' is neither auto, cpu nor cuda; did you mean cuda?" ]
    for device in auto cpu; do
      # shellcheck disable=SC2086
      run "$SPDNN" $command --plan-device "$device"
      [ "$status" -eq 0 ]
      [[ "$output" != *"CUDA device"* ]]
    done
    # shellcheck disable=SC2086
    run "$SPDNN" $command --plan-device cuda
    if has_device; then
      [ "$status" -eq 0 ]
      [[ "$command" == convert* || "$output" == *"twins were found on the CUDA device"* ]]
    elif has_cuda; then
      [ "$status" -eq 4 ]
      [[ "$output" == "spdnn: --plan-device: no "* ]]
    else
      [ "$status" -eq 2 ]
      [ "$output" = "spdnn: --plan-device: built without CUDA: make GPU=1" ]
    fi
  done
}

@test "a plan made on the device is the one made on the CPU" {
  if ! has_device; then skip "there is no device"; fi
  "$SPDNN" generate network --family official --neurons 1024 --layers 12 --out n.spdnn --progress never
  "$SPDNN" convert n.spdnn cpu.spdnn --plan all
  "$SPDNN" convert n.spdnn cuda.spdnn --plan all --plan-device cuda
  cmp cpu.spdnn cuda.spdnn
}

@test "--plan-device goes with a plan to make" {
  run "$SPDNN" convert net out.spdnn --bias -0.5 --plan-device cpu
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --plan-device cannot be used with a network that is stored without its plan" ]
  for option in '--bias -0.5' '--bias-rule everywhere' '--cap 8' '--plan all' '--plan-device cpu'; do
    # shellcheck disable=SC2086 # an option and its value
    run "$SPDNN" convert net out $option
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: ${option%% *} cannot be used with an OUT of text layers, which contain only weights" ]
  done
  run "$SPDNN" convert images.tsv out.spdnn --kind images --plan-device cpu
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --plan-device cannot be used with images" ]
  # A stored plan is used: nothing is planned.
  "$SPDNN" convert net net.spdnn --bias -0.5 --plan all
  run "$SPDNN" infer --network net.spdnn --inputs images.tsv --progress never --plan-device cuda
  [ "$status" -eq 0 ]
}

@test "fp16 storage says how many categories differ from fp32" {
  if ! has_cuda; then skip "this program has no CUDA"; fi
  "$SPDNN" variants | grep -q '^resident .*fp32 fp16 '
  if ! has_device; then skip "there is no device"; fi
  # 1 + 2^-12 is stored as 1: image 1, alive in fp32, dies; 1 - 2^-12 is, too: image 2, dead in fp32, lives.
  printf '1\t1\t1.000244140625\n2\t2\t0.999755859375\n' >net/n2-l1.tsv
  printf '1\t1\t1\n2\t2\t1\n' >net/n2-l2.tsv
  printf '1\t0\n2\t0\n' >net/n2-l1-bias.tsv
  printf '1\t-1.0001\n2\t-0.9999\n' >net/n2-l2-bias.tsv
  run "$SPDNN" infer --network net --inputs images.tsv --progress never --variant resident --precision fp16 \
    --categories out.tsv --json run.json
  [ "$status" -eq 0 ]
  [[ "$output" == *"fp16 against fp32: 2 categories differ: 1 missing, 1 extra"* ]]
  [ "$(cat out.tsv)" = 2 ]
  jq -e '.precision == "fp16" and .against_fp32 == {differ: 2, missing: 1, extra: 1, first_ids: [1, 2]}' run.json
}

@test "bench layers prints a line and writes a JSON line per measurement" {
  run "$SPDNN" bench layers --neurons 64,128 --degrees 4 --alive 1,0.5 --images 100 --layers 2 --trials 1 \
    --variants cpu_openmp --json "$BATS_TEST_TMPDIR/layers.json"
  [ "$status" -eq 0 ]
  [ "$(grep -c '^cpu_openmp ' <<<"$output")" -eq 4 ]
  [ "$(jq -r '.variant' "$BATS_TEST_TMPDIR/layers.json" | grep -c cpu_openmp)" -eq 4 ]
  [ "$(jq -s '[.[].images] | sort | join(",")' "$BATS_TEST_TMPDIR/layers.json")" = '"50,50,100,100"' ]
  [ "$(jq -s '[.[].share_of_ceiling > 0] | all' "$BATS_TEST_TMPDIR/layers.json")" = true ]
  [ "$(jq -r .weights "$BATS_TEST_TMPDIR/layers.json" | sort -u)" = constant ]
}

@test "bench layers goes on after a failure, and makes fewer trials where time is short" {
  ulimit -v 2900000
  run "$SPDNN" bench layers --neurons 20000000,64 --degrees 64 --alive 1 --images 10 --layers 2 --variants cpu_openmp \
    --json "$BATS_TEST_TMPDIR/layers.json"
  echo "$output"
  [ "$status" -eq 4 ]
  [[ "$output" == *"20000000     64 failed: "*"spdnn: measurements that failed: 1; see the table for reasons" ]]
  [ "$(jq -c '[.neurons, .trials]' "$BATS_TEST_TMPDIR/layers.json")" = '[64,5]' ]
  run "$SPDNN" bench layers --neurons 64 --degrees 8 --alive 1 --images 10 --variants cpu_openmp --trials 50 --seconds 0 \
    --weights distinct --json "$BATS_TEST_TMPDIR/layers.json"
  [ "$status" -eq 0 ]
  [ "$(jq -c '[.trials, .weights]' "$BATS_TEST_TMPDIR/layers.json")" = '[1,"distinct"]' ]
}

@test "bench refuses what it cannot time" {
  run "$SPDNN" bench engines
  [ "$status" -eq 2 ]
  run "$SPDNN" bench layers --neurons 8 --degrees 9
  [ "$status" -eq 2 ]
  [[ "$output" == *"9 is more than 8 neurons"* ]]
  run "$SPDNN" bench layers --alive 0
  [ "$status" -eq 2 ]
}
