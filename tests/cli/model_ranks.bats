#!/usr/bin/env bats
# spdnn infer --model on several ranks, with each MPI library that there is: the results of a run alone, one report, one
# message.

load ../support/ranks

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  libraries=()
  for name in openmpi mpich; do
    if use_mpi $name; then libraries+=("$name"); fi
  done
  if [ "${#libraries[@]}" -eq 0 ] && use_mpi mpi; then libraries=(mpi); fi
  [ "${#libraries[@]}" -gt 0 ] || skip "needs MPI: mpirun, and the plug-in for its library beside the program"
  PYTHONDONTWRITEBYTECODE=1 /usr/bin/python3 "$root/tests/support/toy_model.py" . 20
  infer=(infer --model model.safetensors --inputs images.npy --progress never)
}

@test "logits and predictions of several ranks are those of one, bit by bit with the reference" {
  infer+=(--variant conv_reference)
  "$SPDNN" "${infer[@]}" --logits alone.npy --predictions labels.npy
  for library in "${libraries[@]}"; do
    use_mpi "$library"
    for n in 1 2 3; do
      ends 0 ranks $n "${infer[@]}" --logits ranks.npy --predictions found.npy --json run.json --labels labels.npy --min-accuracy 1 \
        --expected alone.npy --verify all --trials 2 --warm-up 1
      cmp alone.npy ranks.npy
      cmp labels.npy found.npy
      [ "$(wc -l <run.json)" -eq 1 ]
      [ "$(grep -c '^verdict  *PASSED ' stdout)" -eq 1 ]
      jq -e --argjson n $n '.machine.ranks == $n and .images == 20 and (.ranks == null) == ($n == 1) and .reference.images == 20
        and .accuracy.images == 20 and .verdict.status == "PASSED"' run.json
      rm ranks.npy found.npy run.json
    done
    grep -q '^ranks  *3 on 1 host; 6 to 7 images each; ' stdout
  done
}

@test "the report is that of all ranks, each time the longest" {
  use_mpi "${libraries[0]}"
  ends 0 ranks 3 "${infer[@]}" --trials 3 --profile --json run.json
  jq -e '.ranks.hosts == 1 and .ranks.images == {min: 6, median: 7, max: 7} and .ranks.upload.max == .seconds.upload
    and .ranks.infer.max <= .seconds.infer.max and (.seconds | .join > 0 and .share > 0
      and .total > .load + .join + .read + .plan + .share + .gather + .write)
    and (.variant == "conv_reference" or (.profile | length) == .model.nodes_run)' run.json
}

@test "a run in bf16 is compared with one in fp32 on all ranks" {
  use_mpi "${libraries[0]}"
  infer+=(--precision bf16 --variant conv_dense --batch 5)
  "$SPDNN" "${infer[@]}" --logits alone.npy --json alone.json 2>why || skip "$(cat why)"
  ends 0 ranks 2 "${infer[@]}" --logits ranks.npy --json run.json
  cmp alone.npy ranks.npy
  jq -es '.[0].against_fp32 == .[1].against_fp32 and .[1].against_fp32.largest_difference > 0' alone.json run.json
}

@test "with more ranks than images some have none" {
  infer+=(--first 2 --variant conv_reference)
  "$SPDNN" "${infer[@]}" --logits alone.npy
  for library in "${libraries[@]}"; do
    use_mpi "$library"
    ends 0 ranks 3 "${infer[@]}" --logits ranks.npy --json run.json --verify all
    cmp alone.npy ranks.npy
    jq -e '.ranks.images.min == 0 and .images == 2 and .verdict.status == "PASSED"' run.json
    rm ranks.npy
  done
}

@test "shares of a model with a fixed batch are whole batches" {
  use_mpi "${libraries[0]}"
  infer+=(--shape "5,1,6,6" --variant conv_reference)
  "$SPDNN" "${infer[@]}" --logits alone.npy
  ends 0 ranks 3 "${infer[@]}" --logits ranks.npy --json run.json
  cmp alone.npy ranks.npy
  jq -e '.batch == 5 and .ranks.images == {min: 5, median: 5, max: 10}' run.json
  rm ranks.npy
  ends 2 ranks 3 "${infer[@]}" --first 12 --logits ranks.npy
  says_once 'spdnn: rank 0 of 3 on *: --shape: the model takes 5 images at a time, and 12 is not a multiple of that*'
  [ ! -e ranks.npy ]
}

@test "an error is reported once, with its exit code, and nothing is written" {
  printf 'no array' >bad.npy
  "$SPDNN" "${infer[@]}" --predictions labels.npy --logits logits.npy
  for library in "${libraries[@]}"; do
    use_mpi "$library"
    ends 3 ranks 3 "${infer[@]/images.npy/bad.npy}" --logits ranks.npy
    says_once 'spdnn: rank 0 of 3 on *: bad.npy*'
    ends 2 ranks 3 "${infer[@]}" --logits ranks.npy --trials 0
    says_once 'spdnn: rank 0 of 3 on *: --trials: *'
    ends 2 ranks 2 "${infer[@]}" --logits ranks.npy --checkpoint state
    says_once 'spdnn: rank 0 of 2 on *: --checkpoint cannot be used with --model'
    ends 3 ranks 2 "${infer[@]}" --logits ranks.npy --json missing/run.json
    says_once 'spdnn: rank 0 of 2 on *: missing/run.json: cannot write: No such file or directory'
    ends 3 ranks 2 "${infer[@]}" --logits ranks.npy --expected bad.npy
    says_once 'spdnn: rank 0 of 2 on *: bad.npy*'
  done
  [ ! -e ranks.npy ]
}

@test "logits that are not the expected ones are FAILED, with exit code 1" {
  use_mpi "${libraries[0]}"
  "$SPDNN" "${infer[@]}" --logits logits.npy
  /usr/bin/python3 -c "
import pathlib
data = bytearray(pathlib.Path('logits.npy').read_bytes())
data[-2] ^= 0x40
pathlib.Path('logits.npy').write_bytes(data)"
  ends 1 ranks 2 "${infer[@]}" --expected logits.npy --json run.json
  jq -e '.verdict.status == "FAILED" and .expected.first_ids == [20]' run.json
}

# on_host NAME FOLDER: sets `on`, a prefix that runs a command on a host of this name that sees the files of FOLDER.
# shellcheck disable=SC2016  # the inner shell's
on_host() { on=(unshare --uts bash -c 'hostname "$0" && cd "$1" && shift && exec "$@"' "$1" "$2"); }

@test "hosts are counted and named, and the first alone needs the files" {
  unshare --uts true 2>/dev/null || skip "needs the right to give a process a host name of its own"
  mkdir there
  infer+=(--variant conv_reference)
  "$SPDNN" "${infer[@]}" --predictions labels.npy --logits alone.npy
  infer+=(--labels labels.npy --expected alone.npy --verify 2)
  on_host first .
  first=("${on[@]}" "$SPDNN" "${infer[@]}")
  on_host second there
  second=("${on[@]}" "$SPDNN" "${infer[@]}")
  for library in "${libraries[@]}"; do
    use_mpi "$library"
    ends 0 under_mpi -n 1 "${first[@]}" --logits ranks.npy --json run.json : -n 2 "${second[@]}" --logits ranks.npy --json run.json
    cmp alone.npy ranks.npy
    jq -e '.machine.host == "first" and .machine.ranks == 3 and .ranks.hosts == 2 and .machine.threads >= 1' run.json
    grep -q '^ranks  *3 on 2 hosts; 6 to 7 images each; ' stdout
    [ -z "$(ls there)" ]
    rm ranks.npy run.json
    ends 3 under_mpi -n 1 "${second[@]}" --logits ranks.npy : -n 1 "${first[@]}" --logits ranks.npy
    says_once 'spdnn: rank 0 of 2 on second: model.safetensors: cannot read: No such file or directory'
    [ ! -e ranks.npy ]
  done
}

@test "a rank whose machine lacks oneDNN's library is named with its host and the cause" {
  use_mpi "${libraries[0]}"
  infer+=(--variant conv_dense --precision bf16 --logits ranks.npy)
  "$SPDNN" "${infer[@]}" || skip "built without oneDNN, or no bf16 here"
  rm ranks.npy
  mkdir bare
  cp -L "$SPDNN" bare/spdnn
  cp "$(dirname "$(realpath "$SPDNN")")/spdnn-$library.so" bare
  ends 4 under_mpi -n 1 "$SPDNN" "${infer[@]}" : -n 1 bare/spdnn "${infer[@]}"
  says_once "spdnn: rank 1 of 2 on $(hostname): conv_dense: oneDNN cannot be used; *"
  [ ! -e ranks.npy ]
}

@test "a rank without memory is named with its host and the cause" {
  use_mpi "${libraries[0]}"
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out lenet5.onnx
  "$SPDNN" generate tensors --shape 60000,1,28,28 --out many.npy
  arguments=(infer --model lenet5.onnx --inputs many.npy --variant sparse --batch 60000 --progress never --logits ranks.npy)
  # shellcheck disable=SC2016
  ends 4 under_mpi -n 1 "$SPDNN" "${arguments[@]}" : \
    -n 1 bash -c 'ulimit -v 320000; exec "$@"' bash "$SPDNN" "${arguments[@]}"
  says_once "spdnn: rank 1 of 2 on $(hostname): *out of host memory"
  [ ! -e ranks.npy ]
}
