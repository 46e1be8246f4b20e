#!/usr/bin/env bats
# shellcheck disable=SC2154  # support.bash sets them
# The `bash` blocks of the README, a user's first run on a cluster, and of docs/clusters.md, that of a model, work as
# written: the site is edited, nothing else.

setup() {
  load support
  root=$BATS_TEST_DIRNAME/../..
  mnist=$("$root/data_scripts/mnist.sh")
  site=$BATS_TEST_TMPDIR
  cd "$site" || return 1
  cp -r "$root/jobs" .
  mkdir build
  ln -s "$SPDNN" build/spdnn
  PATH=$PWD/build:$PATH
}

# commands_of PAGE: its `bash` blocks go to the file `commands`.
commands_of() { awk '/^```bash$/ { code = 1; next } /^```$/ { code = 0 } code' "$root/$1" >commands; }

@test "a user's first run on a cluster works as the README has it" {
  commands_of README.md
  [ "$(grep -c '^jobs/submit.sh ' commands)" -eq 4 ]
  if [ -r "$mnist" ]; then
    mkdir build/data
    cp "$mnist" build/data/train-images-idx3-ubyte.gz
    sed -i "s|^SPDNN_MNIST=.*|SPDNN_MNIST=$site/build/data/train-images-idx3-ubyte.gz|" jobs/site.sh
  else
    # Without MNIST the images are digits, and their categories nobody's official ones.
    "$SPDNN" generate inputs --family digits --neurons 1024 --images 60000 --out images.spdnn
    sed -i 's|--mnist build/data/train-images-idx3-ubyte.gz|--inputs images.spdnn|' commands
  fi
  sed -i 's|^SPDNN_CPUS_PER_TASK=.*|SPDNN_CPUS_PER_TASK=1|' jobs/site.sh
  run timeout 3000 bash -euo pipefail commands
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"sbatch --parsable "*"--array=1,2,3,4,5,6,7,8,9,10,11,12 "* ]]
  table=$(tail -n 3 <<<"$output")
  [ "$(awk '{ print $2, $3, $6 }' <<<"$table" | sort | xargs)" = "1024 120 1 1024 120 2 1024 480 1" ]
  [ ! -r "$mnist" ] || [ "$(grep -c ' PASSED ' <<<"$table")" -eq 3 ]
}

@test "a model's first run on a cluster works as docs/clusters.md has it" {
  commands_of docs/clusters.md
  [ "$(grep -c '^jobs/submit.sh ' commands)" -eq 2 ]
  sed -i 's|^SPDNN_CPUS_PER_TASK=.*|SPDNN_CPUS_PER_TASK=1|' jobs/site.sh
  run timeout 3000 bash -euo pipefail commands
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(tail -n 1 <<<"$output" | awk '{ print $1, $5, $6, $11 }')" = "lenet5 2 1000 PASSED" ]
  [ -s logits.npy ]
  grep -q lenet5.onnx lenet5.html
}
