#!/usr/bin/env bats
# The commands of the pages work as written: the `sh` blocks of README.md, and then those of docs/*.md, are run in order in
# an empty directory. tests/cli/docs.bats checks the make targets that pages name, and their links.

@test "the commands of README.md and docs/ run as written" {
  root="$BATS_TEST_DIRNAME/../.."
  mnist="$root/../shared/data/mnist/train-images-idx3-ubyte.gz"
  [ -r "$mnist" ] || skip "needs MNIST's training images"
  root=$(cd "$root" && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  cp "$mnist" train-images-idx3-ubyte.gz
  mkdir bin
  ln -s "$SPDNN" bin/spdnn
  PATH="$PWD/bin:$PATH"
  awk '/^```sh$/ { code = 1; next } /^```$/ { code = 0 } code' "$root"/README.md "$root"/docs/*.md >commands
  [ "$(wc -l <commands)" -ge 10 ]
  run bash -euxo pipefail commands
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"PASSED: 1812 categories, missing 0, extra 0"* ]]
}
