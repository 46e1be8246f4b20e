#!/usr/bin/env bats
# Every command in README.md works as written: the `sh` blocks are run in order in an empty directory, and the make
# targets exist.

setup() {
  readme="$BATS_TEST_DIRNAME/../../README.md"
  mnist="$BATS_TEST_DIRNAME/../../../shared/data/mnist/train-images-idx3-ubyte.gz"
}

@test "the workflows run as written" {
  [ -r "$mnist" ] || skip "needs MNIST's training images"
  cd "$BATS_TEST_TMPDIR" || return 1
  cp "$mnist" train-images-idx3-ubyte.gz
  mkdir bin
  ln -s "$SPDNN" bin/spdnn
  PATH="$PWD/bin:$PATH"
  awk '/^```sh$/ { code = 1; next } /^```$/ { code = 0 } code' "$readme" >commands
  [ "$(wc -l <commands)" -ge 10 ]
  run bash -euxo pipefail commands
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 1812 categories, missing 0, extra 0"* ]]
}

@test "the make targets that make help and the README name exist" {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  targets=$({ make help | sed -n 's/^  \([a-z][a-z, -]*[a-z]\)  .*/\1/p' | tr -d ','; grep -oP '(^|`| {4})make \K[a-z-]+' "$readme"; } | sort -u)
  for target in all test lint fuzz test-gpu results; do [[ $targets =~ (^|[[:space:]])$target([[:space:]]|$) ]]; done
  for target in $targets; do
    run make -n "$target"
    echo "$target: $output"
    [ "$status" -eq 0 ]
  done
}
