#!/usr/bin/env bash
# Runs everything that needs a GPU, on a machine that has one: the device tests, the sanitizers on the part of them that
# touches every kernel once, timings of all CUDA variants, and the Python package. Where the toolkit is, build first:
#   make GPU=1 ARCH=90 PORTABLE=1 gpu-tests all python
# usage: on_device.sh BUILD_DIRECTORY [OUT_DIRECTORY] [tests|sanitize|time|python ...]
#   e.g. on_device.sh build/release-cuda-portable out
# SANITIZE_FILTER=... chooses other tests for the sanitizers, PYTHON=... the Python that the package was built for.
set -uo pipefail
build=${1:?usage: on_device.sh BUILD_DIRECTORY [OUT_DIRECTORY] [STEP...]}
out=${2:-$build/on_device}
shift $(($# > 2 ? 2 : $#))
steps=${*:-tests sanitize time python}
mkdir -p "$out"
status=0

# Bad accesses and races are looked for in our own engines on the battery (cascade on other networks), in every shape of
# their kernels, and in what they share. ErrorsTest is left out, as it provokes errors.
sanitize_filter='LayerSourceTest.*:StagingTest.LayersOfAllSizesArrive:DeviceTwinsTest.*:DeviceImagesTest.*'
sanitize_filter+=':RowKernelsTest.*:RowFlagsTest.*:ActiveRowsTest.*:*Battery*/resident_*:*Battery*/spmm_rows_*'
sanitize_filter+=':*Battery*/spmm_merge_*:*Battery*/spmm_shared_*:SharedReadsTest.*:*CascadeShapes*narrow:*CascadeShapes*biases:*CascadeShapes*deep*'
sanitize_filter+=':*CascadeShapes*full_tables:*CascadeShapes*two_columns:CascadeTest.*:*ResidentShapes*/60:*ResidentShapes*/250:ResidentFp16Test.AgreesWith*'
sanitize_filter+=':StreamingTest.WorkItems*:StreamingTest.LayersThat*:StreamingTest.ALayer*'
sanitize_filter+=':IdenticalTest.FewImages/cascade*:IdenticalTest.FewImages/resident*:IdenticalTest.FewImages/spmm*'
sanitize_filter+=':*ConvRivals*/direct*:*ConvRivals*/uniform*:*ConvRivals*/*ecr:ConvPixels.*:ConvGenerated.*:UnfoldColumns.*'
sanitize_filter=${SANITIZE_FILTER:-$sanitize_filter}

run_tests() {
  "$build/spdnn_gpu_tests" --gtest_color=no >"$out/tests.log" 2>&1 || status=1
  grep -E '^\[  FAILED|^\*\*\*|passed, ' "$out/tests.log"
}

# sanitize TOOL OPTIONS...
sanitize() {
  local log=$out/$1.log
  compute-sanitizer --tool "$@" --error-exitcode 9 "$build/spdnn_gpu_tests" --gtest_color=no \
    --gtest_filter="$sanitize_filter" >"$log" 2>&1 || status=1
  grep -E '^\[  FAILED|^\*\*\*|passed, ' "$log"
  echo "$1: $(grep -E 'SUMMARY' "$log" || tail -n 1 "$log")"
}

# Races are looked for in our own kernels: cuSPARSE's have some that racecheck reports.
run_sanitizers() {
  local pattern patterns
  IFS=: read -ra patterns <<<"$sanitize_filter"
  for pattern in "${patterns[@]}"; do
    [[ $("$build/spdnn_gpu_tests" --gtest_list_tests --gtest_filter="$pattern") != *$'\n  '* ]] || continue
    echo "on_device.sh: no test is named $pattern" >&2 && status=1
  done
  sanitize memcheck
  sanitize racecheck --kernel-name kns=spdnn
}

# The official network needs no file. With MNIST=train-images-idx3-ubyte.gz the images are the official ones and the
# verdict is against the official categories; otherwise synthetic digits, and the variants' lists should have one digest.
run_timings() {
  local variant log images=(--mnist "${MNIST:-}")
  if [ -z "${MNIST:-}" ]; then
    "$build/spdnn" generate inputs --family digits --neurons 1024 --images 60000 --seed 1 --out "$out/digits.spdnn" || status=1
    images=(--inputs "$out/digits.spdnn")
  fi
  for variant in $("$build/spdnn" variants | awk '$2 == "cuda" {print $1}'); do
    log=$out/1024x120-$variant
    timeout "${LIMIT:-120}" "$build/spdnn" infer --generate official --neurons 1024 --layers 120 "${images[@]}" \
      --variant "$variant" --reduce dead --trials 5 --categories "$log.tsv" --json "$log.json" >"$log.log" 2>&1
    case $? in
      0) echo "$variant: $(grep -E '^infer' "$log.log"); $(grep -E '^verdict' "$log.log"); list $(sha256sum <"$log.tsv" | cut -c1-12)" ;;
      124) echo "$variant: more than ${LIMIT:-120} s" ;;
      *) echo "$variant: $(tail -1 "$log.log")" && status=1 ;;
    esac
  done
  "$build/spdnn" bench layers --json "$out/layers.json" | tee "$out/layers.log"
}

# With MNIST= the images are the official ones here, too.
run_python() {
  local tests why python=${PYTHON:-python3}
  tests=$(dirname "${BASH_SOURCE[0]}")
  export PYTHONPATH=$build/python:$tests/../python PYTHONDONTWRITEBYTECODE=1
  if ! why=$("$python" -c 'import spdnn' 2>&1); then
    echo "python: skipped: $python does not load $build/python: ${why##*$'\n'}"
    return
  fi
  "$python" "$tests/python_test.py" >"$out/python.log" 2>&1 || status=1
  grep -E '^(FAIL|ERROR|Ran|OK|FAILED)|skipped|categories' "$out/python.log"
}

for step in $steps; do
  case $step in
    tests) run_tests ;;
    sanitize) run_sanitizers ;;
    time) run_timings ;;
    python) run_python ;;
    *) echo "on_device.sh: '$step' is none of tests, sanitize, time, python" >&2 && exit 2 ;;
  esac
done
exit $status
