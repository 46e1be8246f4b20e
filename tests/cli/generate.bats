#!/usr/bin/env bats
# spdnn generate: networks and inputs. The data beside the repository is used where it is there.

setup() {
  shared=$BATS_TEST_DIRNAME/../../../shared/data
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  cd "$BATS_TEST_TMPDIR"
}

@test "the official 1024 x 120 network is the official one, byte for byte" {
  [ -f "$shared/official/official-1024-l120.tar.xz" ] || skip "no official network in ../shared/data"
  tar -xf "$shared/official/official-1024-l120.tar.xz"
  "$SPDNN" generate network --family official --neurons 1024 --layers 120 --out made
  [ "$(ls made/n* | wc -l)" -eq 120 ]
  diff -rq -x spdnn-network.txt neuron1024 made
}

@test "the official inputs are the official ones, byte for byte" {
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  run "$SPDNN" generate inputs --family official --neurons 1024 --mnist "$mnist" --out sparse-images-1024.tsv
  [ "$status" -eq 0 ]
  [[ "$output" == *"60000 of 1024 neurons, 6374505 non-zeros"* ]]
  sum=$({ printf 'blob %d\0' "$(stat -c %s sparse-images-1024.tsv)" && cat sparse-images-1024.tsv; } | sha1sum)
  [ "${sum%% *}" = 7ef31fd5e90d375c1444fd8d255c685f288a48ad ]
}

@test "a name chooses the form of a network" {
  make=("$SPDNN" generate network --family random --neurons 64 --layers 3 --degree 4 --weights normal:0.5:0.1)
  "${make[@]}" --out net.spdnn
  "${make[@]}" --out tsv
  "${make[@]}" --out mtx --form mtx
  "${make[@]}" --out gz --form tsv.gz
  for form in tsv mtx tsv.gz; do
    [ "$(ls "${form#tsv.}")" = "$(printf '%s\n' n64-l{1,2,3}."$form" spdnn-network.txt)" ]
  done
  "$SPDNN" convert net.spdnn again
  diff -r tsv again
  gzip -dc gz/n64-l2.tsv.gz | cmp - tsv/n64-l2.tsv
  [ "$(wc -l <tsv/n64-l3.tsv)" -eq 256 ]
}

@test "seeds choose what is made" {
  "$SPDNN" generate network --family radixnet --neurons 256 --layers 8 --degree 4 --seed 3 --out a.spdnn
  OMP_NUM_THREADS=1 "$SPDNN" generate network --family radixnet --neurons 256 --layers 8 --degree 4 --seed 3 --out b.spdnn
  "$SPDNN" generate network --family radixnet --neurons 256 --layers 8 --degree 4 --seed 4 --out c.spdnn
  cmp a.spdnn b.spdnn
  run cmp a.spdnn c.spdnn
  [ "$status" -eq 1 ]
  "$SPDNN" generate inputs --family digits --neurons 784 --images 50 --seed 3 --out a-images.spdnn
  OMP_NUM_THREADS=1 "$SPDNN" generate inputs --family digits --neurons 784 --images 50 --seed 3 --out b-images.spdnn
  "$SPDNN" generate inputs --family digits --neurons 784 --images 50 --seed 18446744073709551615 --out c-images.spdnn
  cmp a-images.spdnn b-images.spdnn
  run cmp a-images.spdnn c-images.spdnn
  [ "$status" -eq 1 ]
}

@test "options that do not fit together are a usage error, and nothing is written" {
  network=(generate network --neurons 1024 --layers 2)
  inputs=(generate inputs --neurons 1024)
  refused() {
    run "$SPDNN" "$@"
    [ "$status" -eq 2 ]
    [ "${#lines[@]}" -eq 1 ]
    [ -z "$(ls)" ]
  }
  refused generate
  refused generate pictures
  for option in degree=32 weights=constant:1 bias=-0.3 seed=2; do
    refused "${network[@]}" --family official --out net.spdnn --"$option"
    [[ "$output" == *"--${option%%=*} cannot be used with --family official"* ]]
  done
  refused "${network[@]}" --family official
  refused "${network[@]}" --out net.spdnn
  refused "${network[@]}" --family radix --out net.spdnn
  refused "${network[@]}" --family official --out n1024-l1.tsv
  refused "${network[@]}" --family random --out net.spdnn --degree 1025
  refused "${network[@]}" --family random --out net.spdnn --weights constant
  refused "${network[@]}" --family random --out net.spdnn --seed -1
  refused "${network[@]}" --family random --out net.spdnn --seed 1.5
  refused "${network[@]}" --family random --out net.spdnn --form zip
  refused generate network --family official --neurons 2048 --layers 2 --out net.spdnn
  refused generate network --family official --neurons 1024 --layers 0 --out net.spdnn
  refused "${inputs[@]}" --family official --out images.spdnn
  refused "${inputs[@]}" --family official --out images.spdnn --mnist x --images 10
  refused "${inputs[@]}" --family official --out images.spdnn --mnist x --seed 10
  refused "${inputs[@]}" --family digits --out images.spdnn --mnist x
  refused "${inputs[@]}" --family letters --out images.spdnn
  refused generate inputs --family digits --neurons 1000 --out images.spdnn
}

@test "files that are not MNIST, or not all of it, are data errors" {
  printf '\0\0\10\3\0\0\0\1\0\0\0\34\0\0\0\34' >one
  head -c 784 /dev/zero >>one
  run "$SPDNN" generate inputs --family official --neurons 1024 --mnist one --out images.spdnn
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: one: holds 1 image; "*"all 60000 training images"* ]]
  run "$SPDNN" generate inputs --family official --neurons 1024 --mnist absent --out images.spdnn
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: absent: cannot read: No such file or directory" ]
  run "$SPDNN" generate inputs --family digits --neurons 1024 --images 10 --out images.txt
  [ "$status" -eq 3 ]
  [ "$(ls)" = one ]
}
