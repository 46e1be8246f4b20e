#!/usr/bin/env bats
# Ranks of one run whose command lines differ in one option, with OpenMPI and MPICH: one line names it, and all ranks end.

load ../support/ranks

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
  "$SPDNN" generate model --family lenet5 --out m.onnx
  "$SPDNN" generate tensors --shape 3,1,28,28 --out t.npy
}

# differ OPTION [VALUE] -- ARGUMENTS...: of two ranks with these arguments, the second and then the first has the option as
# well. Nothing is written.
differ() {
  local option=() more less
  while [ "$1" != -- ]; do option+=("$1") && shift; done
  shift
  less=("$SPDNN" "$@")
  more=("${less[@]}" "${option[@]}")
  echo "$library ${option[*]}"
  ends 2 under_mpi -n 1 "${less[@]}" : -n 1 "${more[@]}" </dev/null
  says_once "spdnn: rank 1 of 2 on *: ${option[0]}: * here, but * on the first rank; expected the same options on all ranks"
  ends 2 under_mpi -n 1 "${more[@]}" : -n 1 "${less[@]}" </dev/null
  says_once "spdnn: rank 1 of 2 on *: ${option[0]}: * here, but * on the first rank; expected the same options on all ranks"
  [ ! -e out ]
}

@test "networks: an option that one rank has and the other has not" {
  for library in openmpi mpich; do
    use_mpi $library
    while read -ra option; do
      differ "${option[@]}" -- infer --network n.spdnn --inputs i.spdnn --progress never
    done <<'END'
--bias -0.2
--cap 30
--neurons 64
--layers 3
--images 60
--truth t.tsv
--verify 4
--categories out
--activations out
--allow-missing-newline
--bias-rule everywhere
--json out
--trials 2
--warm-up 1
--compare
--precision fp64
--batch 7
--checkpoint out
--host-memory 1G
--device-memory 1G
--plan-device cpu
--device-state
--share-devices
--deal fixed
--join-timeout 60
--device cpu
--variant cpu_openmp
--reduce none
--threads 1
END
  done
}

@test "models: an option that one rank has and the other has not" {
  for library in openmpi mpich; do
    use_mpi $library
    while read -ra option; do
      differ "${option[@]}" -- infer --model m.onnx --inputs t.npy --progress never
    done <<'END'
--shape N,1,28,28
--first 2
--layout nhwc
--table t.npy
--subtract 1
--divide 2
--mean 0.5
--std 2
--labels l.npy
--min-accuracy 0.5
--expected e.npy
--names names.txt
--verify all
--logits out.csv
--predictions out.csv
--json out
--variant conv_reference
--device cpu
--precision fp64
--rewrite none
--batch 2
--threads 1
--host-memory 1G
--trials 2
--warm-up 1
--profile
--compare
--join-timeout 60
END
  done
}
