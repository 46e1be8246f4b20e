#!/usr/bin/env bats
# The cluster jobs' front, as far as it needs no Slurm; tests/slurm has the rest.

setup() {
  load ../support/jobs
  make_site
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
SPDNN_RESULTS='out puts 50%'
END
  run jobs/submit.sh infer --nodes 2 --tasks-per-node 4 --name first -- --network 'my net.spdnn' --inputs 'a*b'
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "job 77; its log: $site/out puts 50%/logs/spdnn-infer-77.log" ]
  for argument in '--partition=big one' --account=science --qos=low --time=1:30:00 --cpus-per-task=12 --nodes=2 \
    --ntasks-per-node=4 --gres=gpu:h200:4 --signal=B:USR1@90 --constraint='a&b' --exclusive --requeue --open-mode=append \
    "--output=$site/out puts 50%%/logs/%x-%j.log"; do
    grep -qxF -- "$argument" arguments
  done
  [ "$(tail -n 8 arguments)" = "$(printf '%s\n' "$site/jobs/infer.sbatch" "$site/jobs" '' first --network 'my net.spdnn' --inputs 'a*b')" ]
  echo SPDNN_GPUS=0 >>jobs/site.sh
  jobs/submit.sh infer --time 5 -- --network n.spdnn
  run grep -iE 'gpu|gres' arguments
  [ "$status" -eq 1 ]
  grep -qx -- --time=5 arguments
  # Each of these alone, and Slurm's defaults for the others.
  for option in PARTITION=p ACCOUNT=a QOS=q; do
    printf 'SPDNN_%s\n' PARTITION= ACCOUNT= QOS= "$option" >>jobs/site.sh
    jobs/submit.sh infer -- --network n.spdnn
    [ "$(grep -E -- '^--(partition|account|qos)' arguments)" = "--${option,,}" ]
  done
}

@test "a site that says nothing gets one node, an hour, four processors and a GPU, a signal two minutes before the end, and files of build/" {
  make_sbatch
  started() {
    local kind=$1 place=$2
    shift 2
    printf '%s\n' --parsable --requeue --open-mode=append "--job-name=spdnn-$kind" "--comment=$site/build/cluster +0" \
      "--output=$site/build/cluster/logs/%x-$place.log" --nodes=1 --ntasks-per-node=1 --cpus-per-task=4 --time=60 --signal=B:USR1@120 \
      --gpus-per-task=1 "$@"
  }
  jobs/submit.sh infer -- --network n.spdnn
  [ "$(cat arguments)" = "$(started infer %j "$site/jobs/infer.sbatch" "$site/jobs" '' '' --network n.spdnn)" ]
  run jobs/submit.sh sweep
  [ "$output" = "$(printf '%s\n' '12 elements: 0 in the results, 0 in the queue' \
    "job 77; its log: $site/build/cluster/logs/spdnn-sweep-77_%a.log")" ]
  [ "$(cat arguments)" = "$(started sweep %A_%a --array=1,2,3,4,5,6,7,8,9,10,11,12 "$site/jobs/sweep.sbatch" "$site/jobs" '' 0)" ]
  [ "$(cat build/cluster/sweep.list)" = "$(for neurons in 1024 4096 16384 65536; do
    for layers in 120 480 1920; do printf '%sx%s-auto\t%s\t%s\tauto\n' "$neurons" "$layers" "$neurons" "$layers"; done
  done)" ]
}

@test "no GPU is asked for where a model is run, unless on a CUDA device" {
  make_sbatch
  for model in '--model m.onnx' --model=m.onnx; do
    # shellcheck disable=SC2086
    jobs/submit.sh infer -- $model --inputs i.npy
    run grep -iE 'gpu|gres' arguments
    [ "$status" -eq 1 ]
    for on_gpus in "$model --device cuda" "--device=cuda $model" '--network n.spdnn'; do
      # shellcheck disable=SC2086
      jobs/submit.sh infer -- $on_gpus --inputs i.npy
      grep -q '^--gpus-per-task=1$' arguments
    done
  done
}

@test "a dry run prints a command that a shell reads as the same arguments, and submits nothing" {
  make_sbatch
  run jobs/submit.sh infer --dry-run -- --network 'my net.spdnn' --inputs 'a*b'
  [ "$status" -eq 0 ]
  [ ! -e arguments ]
  bash -c "$output"
  [ "$(tail -n 4 arguments)" = "$(printf '%s\n' --network 'my net.spdnn' --inputs 'a*b')" ]
  words=('' ' ' "'" '"' '\' '$HOME' '`pwd`' '~' '#' '!' ';' '&' '|' '<' '>' '(' '{a,b}' '[a]' '?' é $'two\nlines' a=b)
  run jobs/submit.sh infer --dry-run -- "${words[@]}"
  [ "$status" -eq 0 ]
  bash -c "$output"
  [ "$(sed '1,/\.sbatch$/d' arguments)" = "$(printf '%s\n' "$site/jobs" '' '' "${words[@]}")" ]
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
  # Options make other elements by where each of them ends, too.
  jobs/submit.sh sweep --configs 1024x1 -- --batch 51 --trials 1
  jobs/submit.sh sweep --configs 1024x1 -- --batch 5 1--trials 1
  [ "$(tail -n 2 build/cluster/sweep.list | cut -f1 | uniq | wc -l)" -eq 2 ]
  # Other images make other elements.
  echo SPDNN_IMAGES=100 >>jobs/site.sh
  jobs/submit.sh sweep --configs 1024x480
  grep -qx -- --array=7 arguments
  echo SPDNN_MNIST=train-images.gz >>jobs/site.sh
  jobs/submit.sh sweep --configs 1024x480
  grep -qx -- --array=8 arguments
  [ "$(cut -f1 build/cluster/sweep.list | tail -n 2 | xargs)" = "1024x480-auto-digits100 1024x480-auto-official" ]
  # Lines that another sweep adds while this one waits for the lock stay, and where there are no locks that is said.
  make_command flock <<<'[ "$1" = 9 ] && printf "other\t1\t1\tauto\n" >>build/cluster/sweep.list && exit 1'
  run jobs/submit.sh sweep --configs 1024x1920
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = 'jobs/submit.sh: no locks on this file system; do not submit two sweeps at one moment' ]
  [ "$(cut -f1 build/cluster/sweep.list | tail -n 3 | xargs)" = "1024x480-auto-official other 1024x1920-auto-official" ]
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
  refuse 2 infer --tasks-per-node 0 -- --network n
  refuse 2 infer --nodes 1.5 -- --network n
  refuse 2 infer --at-once 2 -- --network n
  refuse 2 infer --variants auto -- --network n
  refuse 2 infer --name 'a b' -- --network n
  refuse 2 sweep --name first
  refuse 2 sweep --configs 0x120
  refuse 2 sweep --configs 1024x0
  refuse 2 sweep --configs 1024x120x1
  refuse 2 sweep --at-once 0
  refuse 2 infer --nodes
  refuse 2 infer --network n
  refuse 2 infer --configs 1024x120 -- --network n
  refuse 2 infer --name a/b -- --network n
  refuse 2 infer --name .a -- --network n
  refuse 2 infer --name -a -- --network n
  for own in '--json here' --json=here '--checkpoint here' --checkpoint=here; do
    # shellcheck disable=SC2086
    refuse 2 infer -- --network n $own
    [[ "$output" == *": ${own%%[ =]*} is the job's own;"* ]]
  done
  refuse 2 sweep -- --model m.onnx
  refuse 2 sweep -- --model=m.onnx
  refuse 2 infer --name 1024x120-auto -- --network n
  refuse 2 sweep --configs 1024
  refuse 2 sweep --variants 'a b/c'
  refuse 2 sweep --at-once none
  refuse 2 table --surprise
  refuse 3 table
  [ "$output" = "jobs/submit.sh: there are no results yet at $site/build/cluster" ]
  make_sbatch
  make_command squeue <<<'exit 1'
  refuse 4 sweep
  run jobs/submit.sh surprise
  [ "$status" -eq 2 ]
  [[ "$output" == "usage: jobs/submit.sh infer "* ]]
  run jobs/submit.sh
  [ "$status" -eq 2 ]
  for asked in -h --help; do
    run jobs/submit.sh "$asked"
    [ "$status" -eq 0 ]
    [[ "$output" == "usage: jobs/submit.sh infer "*"Results, checkpoints and logs are in $site/build/cluster. Settings: jobs/site.sh"* ]]
  done
  make_command squeue <<<'exit 0'
  make_command scontrol <<<'echo "MaxArraySize            = 1"'
  run jobs/submit.sh sweep
  [ "$status" -eq 4 ]
  [ "${lines[1]}" = "jobs/submit.sh: this Slurm takes no job arrays: its MaxArraySize is 1" ]
  rm bin/scontrol
  rm build/spdnn
  refuse 3 sweep
  [[ "$output" == *"SPDNN_PROGRAM"* ]]
  refuse 3 infer -- --network n
  [[ "$output" == *"SPDNN_PROGRAM"* ]]
  ln -s "$SPDNN" build/spdnn
  make_command sbatch <<<'exit 1'
  refuse 4 infer -- --network n
  echo 'SPDNN_MODULES=(gcc/12)' >>jobs/site.sh
  refuse 4 sweep
}

@test "a list of configurations or engines is not expanded to the names of files" {
  make_sbatch
  : >1024x120
  : >auto
  for options in '--configs *' '--configs 1024x120,*' '--variants *'; do
    set -f
    # shellcheck disable=SC2086
    run jobs/submit.sh sweep --dry-run $options
    set +f
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "$output" == *"'*' is "* ]]
  done
}

@test "results that cannot be written are named, with exit code 3, and nothing is submitted" {
  make_sbatch
  : >file
  refuse_results() {
    echo "SPDNN_RESULTS=$1" >>jobs/site.sh
    shift
    local command
    for command in 'infer -- --network n' sweep; do
      # shellcheck disable=SC2086
      run "$@" jobs/submit.sh $command
      echo "$output"
      [ "$status" -eq 3 ]
      [[ "$output" == "jobs/submit.sh: SPDNN_RESULTS in jobs/site.sh: "* && "${#lines[@]}" -eq 1 ]]
      [ ! -e arguments ]
    done
  }
  refuse_results file/results
  [[ "$output" == *"Not a directory"* ]]
  mkdir -p results/logs
  chmod -R 555 results
  refuse_results results "${without_root[@]}"
  [[ "$output" == *"/results and logs in it must be writable"* ]]
  chmod 755 results # but not logs
  refuse_results results "${without_root[@]}"
  for mode in 333 444; do
    chmod "$mode" results
    run "${without_root[@]}" jobs/submit.sh table
    [ "$status" -eq 3 ]
    [ "$output" = "jobs/submit.sh: $site/results cannot be read" ]
  done
  chmod 755 results
}

@test "sweeps of more elements than array indices are several arrays, whose elements keep their lines" {
  make_sbatch
  # A Slurm whose indices end at 3.
  make_command scontrol <<<'echo "MaxArraySize            = 4"'
  # shellcheck disable=SC2016  # the script's own
  make_command sbatch <<<'printf "%s " "$@" >>submitted; echo >>submitted; echo $((70 + $(wc -l <submitted)))'
  jobs/submit.sh sweep --configs 1024x1,1024x2,1024x3,1024x4,1024x5,1024x6,1024x7 --at-once 2 -- --trials 3
  cat submitted
  [ "$(grep -o -- '--array=[^ ]*' submitted | xargs)" = "--array=1,2,3%2 --array=1,2,3%2 --array=1%2" ]
  [ "$(grep -o -- '+[036] ' submitted | xargs)" = "+0 +3 +6" ]
  [ "$(grep -oE -- '/jobs  [036] --trials 3 $' submitted | xargs)" = "/jobs 0 --trials 3 /jobs 3 --trials 3 /jobs 6 --trials 3" ]
  # No more than two elements run at one time.
  [ "$(grep -o -- '--dependency=[^ ]*' submitted | xargs)" = "--dependency=afterany:71 --dependency=afterany:72" ]
  # An element in the queue is recognised by its line.
  printf '%s\n' "echo '2 72 PENDING $PWD/build/cluster +3'" "echo '1 73 RUNNING $PWD/build/cluster +6'" \
    "echo '3 99 RUNNING /elsewhere +0'" "echo 'N/A 98 RUNNING $PWD/build/cluster +0'" | make_command squeue
  : >submitted
  run jobs/submit.sh sweep --configs 1024x3,1024x5,1024x7 -- --trials 3
  echo "$output"
  [ "${lines[0]}" = "3 elements: 0 in the results, 2 in the queue" ]
  [ "$(grep -o -- '--array=[^ ]*' submitted)" = "--array=3" ]
  # Without a limit, no array waits for another.
  make_command squeue <<<'exit 0'
  : >submitted
  jobs/submit.sh sweep --configs 1024x11,1024x12,1024x13,1024x14
  [ "$(wc -l <submitted)" -gt 1 ]
  run grep -- --dependency submitted
  [ "$status" -eq 1 ]
  # Where Slurm does not say how many, its own limit holds.
  make_command scontrol <<<'exit 1'
  : >submitted
  jobs/submit.sh sweep --configs "$(printf '512x%s,' {1..993})"
  [ "$(grep -oE -- '--array=[0-9]+|,[0-9]+ ' submitted | xargs)" = "--array=12 ,1000 --array=1 ,4" ]
  # Arrays are submitted in the order of their lines.
  make_command scontrol <<<'echo "MaxArraySize            = 101"'
  : >submitted
  jobs/submit.sh sweep --configs "$(printf '512x%s,' 1 {80..993..50} 993)" --at-once 1
  [ "$(grep -oE -- ' \+[0-9]+' submitted | xargs)" = '+0 +100 +200 +300 +400 +500 +600 +700 +800 +900 +1000' ]
  [[ "$(tail -n 1 submitted)" == *" --dependency=afterany:80 "* ]]
}
