#!/usr/bin/env bats
# shellcheck disable=SC2154  # support/jobs.bash sets them
# The commands that an element of a sweep runs, with test doubles for Slurm's commands and for the program.

setup() {
  load ../support/jobs
  make_site
  make_launcher srun
  make_command squeue <<<'exit 0'
  make_command program <<'END'
case $1 in
  --version) echo 'spdnn 0.1.0 (commit 0123456789ab)' && exit ;;
esac
echo "$*" >>generated
while [ "$1" != --out ]; do shift; done
echo images >"$2"
END
  mv bin/program build/spdnn
  results=build/cluster
  mkdir -p "$results/logs"
  printf '%s\t%s\t%s\t%s\n' 1024x120-auto 1024 120 auto 1024x120-resident 1024 120 resident 4096x7-auto 4096 7 auto >"$results/sweep.list"
}

# element OFFSET INDEX [OPTION...]: runs the element of an array, whose srun writes a result, or does what `start` says.
element() {
  echo "${start:-done 0}" >starts
  rm -f started
  SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=$2 SLURM_JOB_NAME=spdnn-sweep SLURM_NTASKS=1 SLURM_JOB_NODELIST=n0 \
    bash jobs/sweep.sbatch "$site/jobs" '' "$1" "${@:3}" >"$results/logs/spdnn-sweep-7_$2.log" 2>&1
  options=$(sed 's/.* infer //' started)
}

teardown() { cat "$results"/logs/*; }

@test "an element is that of its line, and its result has the line's name" {
  element 0 2 --trials 5
  [[ "$options" == "--generate official --neurons 1024 --layers 120 "*" --variant resident "*" --trials 5 --threads 4 "* ]]
  [ -e "$results/1024x120-resident.json" ]
  [[ "$options" =~ ^"--generate official --neurons 1024 --layers 120 --inputs $site/build/data/images-1024-digits60000.spdnn --variant \
resident --verify 64 --trials 5 --threads 4 --progress never --json $site/$results/1024x120-resident.json --checkpoint \
$site/$results/1024x120-resident.checkpoint --checkpoint-every 15m"( --max-time [0-9]+)?$ ]]
  element 2 1
  [[ "$options" == "--generate official --neurons 4096 --layers 7 "*" --variant auto "* ]]
  [ -e "$results/4096x7-auto.json" ]
  printf '%s\n' 'SPDNN_MODULES=(gcc)' 'module() { echo "$*" >loaded; }' >>jobs/site.sh
  element 0 3 --threads 2
  [ "$(cat loaded)" = 'load gcc' ]
  [[ "$options" == *" --threads 2 "* && "$options" != *" --threads 4 "* ]]
}

@test "ranks are bound to cores of their own, or as the site says, and to GPUs where there are some" {
  element 0 1
  [[ "$(cat started)" == *" --kill-on-bad-exit=1 "*" --cpus-per-task=4 --cpu-bind=cores $site/build/spdnn infer "* ]]
  echo 'SPDNN_CPU_BIND=verbose,sockets SPDNN_GPU_BIND=closest' >>jobs/site.sh
  element 0 1
  [[ "$(cat started)" == *" --cpu-bind=verbose,sockets --gpu-bind=closest $site/build/spdnn infer "* ]]
  echo 'SPDNN_CPU_BIND= SPDNN_GPUS=0' >>jobs/site.sh
  element 0 1
  [[ "$(cat started)" == *" --cpus-per-task=4 $site/build/spdnn infer "* ]]
}

@test "an element is verified: by the official categories, or else a sample by the reference, unless its options say how" {
  for line in 1 3; do
    element 0 "$line"
    [[ "$options" == *" --verify 64 "* ]]
    element 0 "$line" --verify all
    [[ "$options" == *" --verify all "* && "$options" != *" 64 "* ]]
    element 0 "$line" --verify=all
    [[ "$options" == *" --verify=all "* && "$options" != *" 64 "* ]]
  done
  echo 'SPDNN_MNIST=train-images.gz' >>jobs/site.sh
  element 0 1
  [[ "$options" != *--verify* ]]
  element 0 3 # of a depth that has no official categories
  [[ "$options" == *" --verify 64 "* ]]
}

@test "the images of elements are made once, of as many digits as the site wants or of MNIST" {
  echo 'SPDNN_IMAGES=300' >>jobs/site.sh
  element 0 1
  element 0 2
  element 0 3
  [ "$(wc -l <generated)" -eq 2 ]
  [[ "$(head -n 1 generated)" == "generate inputs --family digits --images 300 --seed 1 --neurons 1024 --out "* ]]
  [[ "$options" == *" --inputs $site/build/data/images-4096-digits300.spdnn "* ]]
  : >build/data/images-4096-digits300.spdnn # as a full disk may leave it
  element 0 3
  [ "$(wc -l <generated)" -eq 3 ]
  echo 'SPDNN_MNIST=train-images.gz' >>jobs/site.sh
  element 0 1
  [[ "$(tail -n 1 generated)" == "generate inputs --family official --mnist $site/train-images.gz --neurons 1024 --out "* ]]
  [[ "$options" == *" --inputs $site/build/data/images-1024-official.spdnn "* ]]
}

@test "an element whose result is there is not run, and one whose images cannot be made is a failure" {
  echo '{"schema":"spdnn-run-1","problem":{"neurons":1024,"layers":120,"x":1},"verdict":{"status":"PASSED"},"build":{"commit":"0123456789ab","dirty":false}}' \
    >"$results/1024x120-auto.json"
  rm -f started
  options=''
  SLURM_JOB_ID=9 SLURM_ARRAY_JOB_ID=7 SLURM_ARRAY_TASK_ID=1 SLURM_JOB_NAME=spdnn-sweep SLURM_NTASKS=1 SLURM_JOB_NODELIST=n0 \
    bash jobs/sweep.sbatch "$site/jobs" '' 0 >"$results/logs/spdnn-sweep-7_1.log" 2>&1
  [ ! -e started ]
  [ ! -e generated ]
  grep -qx "jobs: 1024x120-auto is there: $site/$results/1024x120-auto.json" "$results/logs/spdnn-sweep-7_1.log"
  make_command program <<<'case $1 in --version) echo "spdnn 0.1.0 (commit abc)" ;; *) echo "spdnn: no space" >&2; exit 4 ;; esac'
  mv bin/program build/spdnn
  run element 0 1
  [ ! -e started ]
  [[ "$(cat "$results/1024x120-auto.failed")" == "exit code 4: spdnn: no space (job 7_1, log "* ]]
}

@test "an element that fails names its number in the array, and the log that the array has for it" {
  start='fail 3'
  run element 0 2
  [[ "$(cat "$results/1024x120-resident.failed")" == "exit code 3: "*" (job 7_2, log $site/$results/logs/spdnn-sweep-7_2.log)" ]]
}
