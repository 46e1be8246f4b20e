#!/usr/bin/env bats
# The cluster jobs' front, as far as it needs no Slurm; tests/slurm has the rest.

setup() {
  site="$BATS_TEST_TMPDIR/my site"
  mkdir -p "$site/build"
  cd "$site" || return 1
  cp -r "$BATS_TEST_DIRNAME/../../jobs" .
  ln -s "$SPDNN" build/spdnn
}

# Makes a command that takes sbatch's place and writes down its arguments, one a line.
make_sbatch() {
  mkdir bin
  # shellcheck disable=SC2016  # the script's own
  printf '%s\n' '#!/bin/sh' 'printf "%s\n" "$@" >arguments' 'echo "77;cluster"' >bin/sbatch
  printf '%s\n' '#!/bin/sh' 'exit 0' >bin/squeue
  chmod +x bin/*
  PATH=$PWD/bin:$PATH
}

@test "what a site wants reaches sbatch, each as one argument" {
  make_sbatch
  cat >>jobs/site.sh <<'END'
SPDNN_PARTITION='big one'
SPDNN_ACCOUNT=science
SPDNN_QOS=low
SPDNN_TIME_LIMIT=1:30:00
SPDNN_CPUS_PER_TASK=12
SPDNN_GPU_REQUEST=--gres=gpu:h200:4
SPDNN_SECONDS_TO_STOP=90
SPDNN_SBATCH_OPTIONS=(--constraint='a&b' --exclusive)
SPDNN_RESULTS='out puts'
END
  run jobs/submit.sh infer --nodes 2 --tasks-per-node 4 --name first -- --network 'my net.spdnn' --inputs 'a*b'
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "job 77; its log: $site/out puts/logs/spdnn-infer-77.log" ]
  for argument in '--partition=big one' --account=science --qos=low --time=1:30:00 --cpus-per-task=12 --nodes=2 \
    --ntasks-per-node=4 --gres=gpu:h200:4 --signal=B:USR1@90 --constraint='a&b' --exclusive --requeue --open-mode=append \
    "--output=$site/out puts/logs/%x-%j.log"; do
    grep -qxF -- "$argument" arguments
  done
  [ "$(tail -n 7 arguments)" = "$(printf '%s\n' "$site/jobs/infer.sbatch" "$site/jobs" first --network 'my net.spdnn' --inputs 'a*b')" ]
  echo SPDNN_GPUS=0 >>jobs/site.sh
  jobs/submit.sh infer --time 5 -- --network n.spdnn
  run grep -iE 'gpu|gres' arguments
  [ "$status" -eq 1 ]
  grep -qx -- --time=5 arguments
}

@test "no GPU is asked for where a model is run, whatever the site has" {
  make_sbatch
  for model in '--model m.onnx' --model=m.onnx; do
    # shellcheck disable=SC2086
    jobs/submit.sh infer -- $model --inputs i.npy
    run grep -iE 'gpu|gres' arguments
    [ "$status" -eq 1 ]
    jobs/submit.sh infer -- --network n.spdnn --inputs i.spdnn
    grep -q '^--gpus-per-task=1$' arguments
  done
}

@test "a dry run prints a command that a shell reads as the same arguments, and submits nothing" {
  make_sbatch
  run jobs/submit.sh infer --dry-run -- --network 'my net.spdnn' --inputs 'a*b'
  [ "$status" -eq 0 ]
  [ ! -e arguments ]
  bash -c "$output"
  [ "$(tail -n 4 arguments)" = "$(printf '%s\n' --network 'my net.spdnn' --inputs 'a*b')" ]
  run jobs/submit.sh sweep --dry-run --variants auto,cpu_openmp -- --trials 5
  echo "$output"
  [[ "${lines[0]}" == "24 elements: 0 in the results, 0 in the queue" ]]
  [[ "${lines[1]}" == *" --array=1,2,3,"*",23,24 "*"sweep.sbatch"*" --trials 5" ]]
  [ ! -e build/cluster ]
}

@test "elements keep their index; names say what differs from the usual" {
  make_sbatch
  jobs/submit.sh sweep --configs 1024x120
  jobs/submit.sh sweep --configs 4096x120,1024x120 --nodes 2 --tasks-per-node 4 -- --trials 5
  jobs/submit.sh sweep --configs 1024x480,1024x120
  grep -qx -- --array=4,1 arguments
  mapfile -t names < <(cut -f1 build/cluster/sweep.list)
  [ "${names[0]} ${names[3]}" = "1024x120-auto 1024x480-auto" ]
  [[ "${names[1]}" =~ ^4096x120-auto-2x4-[0-9a-f]{8}$ ]]
  # Other images make other elements.
  echo SPDNN_IMAGES=100 >>jobs/site.sh
  jobs/submit.sh sweep --configs 1024x480
  grep -qx -- --array=5 arguments
  echo SPDNN_MNIST=train-images.gz >>jobs/site.sh
  jobs/submit.sh sweep --configs 1024x480
  grep -qx -- --array=6 arguments
  [ "$(cut -f1 build/cluster/sweep.list | tail -n 2 | xargs)" = "1024x480-auto-digits100 1024x480-auto-official" ]
}

@test "what submit.sh does not know or cannot do is refused in one line" {
  refuse() {
    local code=$1
    shift
    run jobs/submit.sh "$@"
    echo "$output"
    [ "$status" -eq "$code" ]
    [[ "$output" == "jobs/submit.sh: "* && "${#lines[@]}" -eq 1 ]]
  }
  refuse 2 infer
  refuse 2 infer --nodes 0 -- --network n
  refuse 2 infer --nodes
  refuse 2 infer --network n
  refuse 2 infer --configs 1024x120 -- --network n
  refuse 2 infer --name a/b -- --network n
  refuse 2 infer --name .a -- --network n
  refuse 2 infer --name -a -- --network n
  refuse 2 infer -- --network n --json here
  refuse 2 sweep -- --model m.onnx
  refuse 2 infer -- --network n --checkpoint=here
  refuse 2 sweep --configs 1024
  refuse 2 sweep --variants 'a b/c'
  refuse 2 sweep --at-once none
  refuse 2 table --surprise
  refuse 3 table
  make_sbatch
  printf '%s\n' '#!/bin/sh' 'exit 1' >bin/squeue
  refuse 4 sweep
  rm build/spdnn
  refuse 3 sweep
  [[ "$output" == *"SPDNN_PROGRAM"* ]]
  run jobs/submit.sh surprise
  [ "$status" -eq 2 ]
  printf '%s\n' '#!/bin/sh' 'exit 1' >bin/sbatch
  refuse 4 infer -- --network n
  echo 'SPDNN_MODULES=(gcc/12)' >>jobs/site.sh
  ln -s "$SPDNN" build/spdnn
  refuse 4 sweep
}

@test "the table shows the right numbers of models that are called as fields of the report are" {
  make_sbatch
  mkdir -p model build/cluster
  "$SPDNN" generate model --family lenet5 --out model/m.safetensors
  "$SPDNN" generate tensors --shape 2,1,28,28 --out images.npy
  for name in flops machine; do
    jq --arg name "$name" '.name = $name' model/architecture.json >changed
    mv changed model/architecture.json
    "$SPDNN" infer --model model/m.safetensors --inputs images.npy --json "build/cluster/$name.json" >/dev/null
    jq -e --arg name "$name" '.model.name == $name' "build/cluster/$name.json"
    dense=$(jq .flops.dense "build/cluster/$name.json" | awk '{ printf "%.4g", $1 / 1e9 }')
    run jobs/submit.sh table
    echo "$output"
    [ "$status" -eq 0 ]
    awk -v name="$name" -v dense="$dense" '$1 == name { found = $5 == 1 && $9 == dense } END { exit !found }' <<<"$output"
  done
}

@test "the table names a result that cannot be read, and shows the others" {
  make_sbatch
  mkdir -p build/cluster/directory.json
  ln -s nowhere build/cluster/lost.json
  echo '{"schema":"spdnn-model-1","model":{"nodes":3},"verdict":{"status":"PASSED"}}' >build/cluster/there.json
  run jobs/submit.sh table
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "${lines[1]}" == "there "*" PASSED "* ]]
  [ "${lines[2]}" = "failed: directory: its result cannot be read" ]
  [ "${lines[3]}" = "failed: lost: its result cannot be read" ]
}
