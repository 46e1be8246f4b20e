#!/usr/bin/env bats
# The commands of the pages work as written: the `sh` blocks of README.md, and then those of docs/*.md, are run in order in
# an empty directory; blocks that begin with "```sh mnist" only where MNIST is at hand. tests/cli/docs.bats checks the make
# targets that pages name, and their links.

load ../support/sampled

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir -p bin build/data
  ln -s "$SPDNN" bin/spdnn
  PATH="$PWD/bin:$PATH"
}

# runs_blocks FENCE: runs the blocks whose first line matches; sets output. A sample has a tenth of the images that are made
# and verified, and models of smaller ones where MNIST's are not read.
runs_blocks() {
  awk -v fence="^\`\`\`$1\$" '$0 ~ fence { code = 1; next } /^```$/ { code = 0 } code' "$root"/README.md "$root"/docs/*.md >commands
  [ "$(wc -l <commands)" -ge 10 ]
  in_full || sed -Ei 's/(--images|--verify) ([0-9]+)0\>/\1 \2/g' commands
  in_full || [ "$1" != sh ] || sed -Ei 's/,1,28,28\>/,1,16,16/; s/--family lenet5/& --shape 1,16,16/' commands
  run bash -euxo pipefail commands
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the commands of README.md and docs/ that need no MNIST run as written" {
  runs_blocks sh
}

@test "the commands of README.md and docs/ run as written" {
  mnist=$("$root/data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  cp "$mnist" build/data/train-images-idx3-ubyte.gz
  runs_blocks "sh( mnist)?"
  [[ "$output" == *"PASSED: 1812 categories, missing 0, extra 0"* ]]
}
