#!/usr/bin/env bash
# Everything that needs a GPU, on a machine that has one: the device tests, the sanitizers on the part of them that
# touches every kernel once, and timings of all CUDA variants. Build before, where the toolkit is:
#   make GPU=1 ARCH=90 PORTABLE=1 gpu-tests all
# usage: on_device.sh BUILD_DIRECTORY [OUT_DIRECTORY] [tests|sanitize|time ...]    e.g. build/release-cuda-portable out
set -uo pipefail
build=${1:?usage: on_device.sh BUILD_DIRECTORY [OUT_DIRECTORY] [STEP...]}
out=${2:-$build/on_device}
shift $(($# > 2 ? 2 : $#))
steps=${*:-tests sanitize time}
mkdir -p "$out"
status=0

# Bad accesses and races: one engine of each kind over the named cases, and the floor. ErrorsTest provokes errors.
sanitize_filter='LayerSourceTest.*:DeviceImagesTest.*:RowKernelsTest.*:ActiveRowsTest.*:EnginesTest.TrialsAndBatches*'

run_tests() {
  "$build/spdnn_gpu_tests" --gtest_color=no >"$out/tests.log" 2>&1 || status=1
  grep -E '^\[  FAILED|^\*\*\*|passed, ' "$out/tests.log"
}

run_sanitizers() {
  local tool
  for tool in memcheck racecheck; do
    compute-sanitizer --tool "$tool" --error-exitcode 9 "$build/spdnn_gpu_tests" --gtest_color=no \
      --gtest_filter="$sanitize_filter" >"$out/$tool.log" 2>&1 || status=1
    echo "$tool: $(grep -E 'ERROR SUMMARY|RACECHECK SUMMARY' "$out/$tool.log" | tail -1)"
  done
}

# The official network needs no file; synthetic digits stand for MNIST, so categories are checked among the variants.
run_timings() {
  local variant json
  "$build/spdnn" generate inputs --family digits --neurons 1024 --images 60000 --seed 1 --out "$out/digits.spdnn" || status=1
  for variant in $("$build/spdnn" variants | awk '$2 == "cuda" {print $1}'); do
    json=$out/1024x120-$variant.json
    timeout 120 "$build/spdnn" infer --generate official --neurons 1024 --layers 120 --inputs "$out/digits.spdnn" \
      --variant "$variant" --reduce dead --trials 5 --categories "$out/$variant.tsv" --json "$json" >"$out/$variant.log" 2>&1
    case $? in
      0) printf '%-28s %s\n' "$variant" "$(grep -E '^ *infer' "$out/$variant.log" | head -1) $(sha256sum <"$out/$variant.tsv" | cut -c1-12)" ;;
      124) printf '%-28s more than 120 s\n' "$variant" ;;
      *) printf '%-28s %s\n' "$variant" "$(tail -1 "$out/$variant.log")" && status=1 ;;
    esac
  done
}

for step in $steps; do
  case $step in
    tests) run_tests ;;
    sanitize) run_sanitizers ;;
    time) run_timings ;;
    *) echo "on_device.sh: '$step' is none of tests, sanitize, time" >&2 && exit 2 ;;
  esac
done
exit $status
