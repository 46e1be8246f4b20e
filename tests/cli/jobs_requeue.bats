#!/usr/bin/env bats
# shellcheck disable=SC2154  # support/jobs.bash sets them
# The cases in which cluster jobs requeue themselves, with test doubles for Slurm's commands; tests/slurm has a real Slurm.

setup() {
  load ../support/jobs
  make_site
  make_launcher srun
  make_squeue 'RUNNING None'
  make_command scontrol <<<'echo "$*" >>requeued'
  results=build/cluster
  end_time=$(($(date +%s) + 1000))
  mkdir -p "$results/logs"
}

teardown() { cat "$results"/logs/*; }

# make_squeue STATE [FAILURES]: a squeue that fails FAILURES times, and then reports that the job is in this state.
make_squeue() {
  echo "${2:-0}" >failures
  make_command squeue <<END
left=\$(cat failures)
echo \$((left - 1)) >failures
[ "\$left" -le 0 ] || { echo 'slurm_load_jobs error: Unable to contact slurm controller' >&2; exit 1; }
echo '$1'
END
}

# start NAME START [OPTION...]: starts the job of an infer as Slurm does, whose srun does what START says.
start() {
  echo "$2" >starts
  rm -f started requeued
  SLURM_JOB_ID=7 SLURM_JOB_NAME=spdnn-infer SLURM_NTASKS=1 SLURM_JOB_NODELIST=n0 SLURM_JOB_END_TIME=$end_time \
    "${without_root[@]}" bash jobs/infer.sbatch "$site/jobs" '' "$1" "${@:3}" >"$results/logs/spdnn-infer-7.log" 2>&1 3>&- &
  job=$!
}

computes() { [ -e computing ]; }

# ends_with CODE: waits for the job; `requeues` is how often it was queued again.
ends_with() {
  local code=0
  wait "$job" || code=$?
  requeues=$(cat requeued 2>/dev/null | grep -cx 'requeue 7' || true)
  [ "$code" -eq "$1" ]
}

@test "a job that gets the signal to stop is queued again though squeue fails, a few times or each time" {
  for failures in 0 1 3 1000; do
    make_squeue 'RUNNING None' "$failures"
    start run "stop 5 $failures"
    within 600 computes
    kill -USR1 "$job"
    ends_with 5
    [ "$requeues" -eq 1 ]
    [ ! -e "$results/run.failed" ]
    run grep -r 'without getting further' "$results/logs"
    [ "$status" -eq 1 ]
  done
}

@test "a job that squeue shows while it is being signalled is queued again" {
  make_squeue 'SIGNALING None'
  start run 'stop 5 900'
  within 600 computes
  kill -USR1 "$job"
  ends_with 5
  [ "$requeues" -eq 1 ]
}

@test "a request to stop is repeated where srun loses it" {
  start run 'deaf 5 900'
  within 600 computes
  kill -USR1 "$job"
  ends_with 5
  [ "$requeues" -eq 1 ]
}

@test "a job that somebody ends is not queued again, whether squeue says so or not" {
  for case in 'CANCELLED None:0:from outside' 'COMPLETING TimeLimit:2:at the time limit' 'RUNNING None:1000:from outside'; do
    IFS=: read -r state failures words <<<"$case"
    make_squeue "$state" "$failures"
    printf '%s\n' 1 2 >"$results/run.requeues" # the stops before do not count once somebody submits it again
    start run 'stop 5 900'
    within 600 computes
    kill -TERM "$job"
    ends_with 5
    [ "$requeues" -eq 0 ]
    grep -q "^stopped $words; submitted again, it continues " "$results/run.failed"
    [ ! -e "$results/run.requeues" ]
  done
}

@test "a job that is ended is known to be so where the signal reaches its ranks first, and the processes of its script too" {
  make_command sleep <<<'[ "$1" != 2 ] || { kill -TERM "$PPID" && exit 143; }; exec /bin/sleep 0.05'
  make_squeue 'COMPLETING TimeLimit'
  start run 'fail 143' --model m.onnx
  ends_with 5
  [ "$requeues" -eq 0 ]
  grep -q '^stopped at the time limit; submitted again, it begins anew ' "$results/run.failed"
}

@test "a job whose requeue Slurm refuses at first asks again" {
  make_command scontrol <<<'echo "$*" >>requeued; [ "$(wc -l <requeued)" -gt 2 ]'
  start run 'stop 5 900'
  within 600 computes
  kill -USR1 "$job"
  ends_with 5
  [ "$requeues" -eq 3 ]
  [ ! -e "$results/run.failed" ]
  make_command scontrol <<<'exit 1'
  start run 'stop 5 800'
  within 600 computes
  kill -USR1 "$job"
  ends_with 5
  grep -q '^stopped, and Slurm did not queue the job again; submitted again, it continues ' "$results/run.failed"
}

@test "a job whose checkpoint is there, and no result, is queued again whatever srun's exit code is" {
  for code in 0 1 137; do
    start run "crash $code $code"
    ends_with 5
    [ "$requeues" -eq 1 ]
  done
  # The checkpoint of the job before: its node may have failed before it wrote one of its own. It gives up in the end.
  for code in 137 0; do
    start run "fail $code"
    ends_with 5
    [ "$requeues" -eq 1 ]
  done
  start run 'fail 4'
  ends_with 5
  [ "$requeues" -eq 0 ]
  grep -q '^stopped 4 times without getting further ' "$results/run.failed"
  echo SPDNN_FRUITLESS_REQUEUES=0 >>jobs/site.sh
  for requeued in 1 0; do
    start run 'fail 4'
    ends_with 5
    [ "$requeues" -eq "$requeued" ]
  done
  grep -q '^stopped 2 times without getting further ' "$results/run.failed"
  # An error of the program itself would happen again.
  for code in 2 3; do
    start run "fail $code"
    ends_with "$code"
    [ "$requeues" -eq 0 ]
    grep -q "^exit code $code: " "$results/run.failed"
    [ ! -e "$results/run.requeues" ]
    : >"$results/run.requeues"
  done
}

@test "a job without a checkpoint, or with a result, is not queued again" {
  for code in 1 3 137; do
    start run "fail $code"
    ends_with "$code"
    [ "$requeues" -eq 0 ]
    grep -q "^exit code $code: " "$results/run.failed"
  done
  start run 'fail 0'
  ends_with 4
  [ "$requeues" -eq 0 ]
  start run 'both 4 900'
  ends_with 4
  [ "$requeues" -eq 0 ]
  start run 'crash 137 5' --model m.onnx
  ends_with 137
  [ "$requeues" -eq 0 ]
}

@test "the rank that ends first says how a job ends, whatever srun's exit code is" {
  make_command srun <<'END'
[ "$1" != --mpi=list ] || exit 0
sed 's/^/srun: error: /' said >&2
exit "$(cat code)"
END
  # ends CODE REQUEUES SRUN_CODE LINE...: how a model's job ends, of which srun says these lines.
  ends() {
    echo "$3" >code
    printf '%s\n' "${@:4}" >said
    start run '' --model m.onnx
    ends_with "$1"
    [ "$requeues" -eq "$2" ]
  }
  ends 3 0 137 'n0: tasks 0-3: Exited with exit code 3' 'n1: task 4: Killed'
  grep -q '^exit code 3: Exited with exit code 3 (job 7, ' "$results/run.failed"
  ends 12 0 137 'n0: task 5: Exited with exit code 12' 'n1: task 4: Exited with exit code 5'
  ends 5 1 137 'n0: tasks 0,2: Exited with exit code 5' 'n1: task 4: Killed'
  ends 5 1 143 'n0: task 0: Terminated' 'n1: task 4: Killed'
  ends 5 1 138 'n0: task 0: User defined signal 1'
  ends 137 0 137 'n0: task 0: Killed' 'n1: task 4: Terminated'
  grep -q '^exit code 137: Killed (job 7, ' "$results/run.failed"
  ends 139 0 139 'Unable to confirm allocation' 'n0: task 0: Segmentation fault'
  grep -q '^exit code 139: Segmentation fault (job 7, ' "$results/run.failed"
  ends 1 0 1 'Unable to create step'
  grep -q '^exit code 1: srun: error: Unable to create step (job 7, ' "$results/run.failed"
}

@test "a model, which has no checkpoints, is not stopped when its time is nearly up, and is bound to no GPUs on processors" {
  echo 'SPDNN_GPU_BIND=closest' >>jobs/site.sh
  start run 'stop 5 900' --model m.onnx
  within 600 computes
  kill -USR1 "$job"
  /bin/sleep 0.5
  rm computing # which ends the ranks
  ends_with 1
  [ "$requeues" -eq 0 ]
  run grep -- --gpu-bind started
  [ "$status" -eq 1 ]
  start run 'done 0' --model m.onnx --device cuda
  ends_with 0
  grep -q -- ' --gpu-bind=closest ' started
}

@test "the reason of a failure is the program's first error, or its verdict, even if srun loses its output" {
  make_command srun <<'END'
[ "$1" != --mpi=list ] || exit 0
echo 'srun: error: n0: task 0: Exited with exit code 3' >&2
while [ "$1" != --json ]; do shift; done
if [ -e line ]; then cp line "$2"; fi
printf 'spdnn: rank %s\n' '0: m.onnx: truncated' '1: no answer' >>"$SPDNN_ERROR_FILE"
exit 3
END
  for try in 1 2; do
    echo 'spdnn: of a job that was killed' >"$results/logs/spdnn-infer-7.errors"
    start run '' --model m.onnx
    ends_with 3
    [[ "$(cat "$results/run.failed")" == "exit code 3: spdnn: rank 0: m.onnx: truncated (job 7, log "* ]]
    [ "$(ls "$results/logs")" = spdnn-infer-7.log ]
  done
  echo '{"schema":"spdnn-model-1","verdict":{"status":"FAILED","against":"e.npy"}}' >line
  start run '' --model m.onnx
  ends_with 3
  [[ "$(cat "$results/run.failed")" == "exit code 3: its verdict is FAILED, against e.npy (job 7, log "* ]]
}

@test "an error before the program runs is the reason of a failure, too" {
  echo 'SPDNN_MODULES=(no_such_module)' >>jobs/site.sh
  echo 'module() { echo "no_such_module is unknown" >&2; return 1; }' >>jobs/site.sh
  start run 'done 0'
  ends_with 4
  [[ "$(cat "$results/run.failed")" == "exit code 4: jobs/infer.sbatch: module load no_such_module failed (job 7, log $site/$results/logs/spdnn-infer-7.log)" ]]
  [ ! -e started ]
}

@test "a signal that comes when the result is written takes nothing from it" {
  for code in 5 143 0; do
    : >"$results/run.requeues" # of earlier jobs, as is the failure
    : >"$results/run.failed"
    start run "done $code"
    ends_with 0
    [ "$requeues" -eq 0 ]
    [ ! -e "$results/run.failed" ]
    [ ! -e "$results/run.requeues" ]
  done
  start run 'done 1'
  ends_with 1
  grep -q '^exit code 1: ' "$results/run.failed"
}

@test "ranks write checkpoints as often as the site says, and stop by their own clock before the job's time is up" {
  options() { grep -oE -- '--(checkpoint-every|max-time) [^ ]*' started | xargs; }
  start run 'done 0'
  ends_with 0
  [[ "$(options)" =~ ^--checkpoint-every\ 15m\ --max-time\ (9[5-8][0-9])$ ]]
  echo SPDNN_CHECKPOINT_EVERY=4h >>jobs/site.sh
  end_time=1
  start run 'done 0'
  ends_with 0
  [ "$(options)" = '--checkpoint-every 4h --max-time 1' ]
  start run 'done 0' --max-time 30s --checkpoint-every never
  ends_with 0
  [ "$(options)" = '--max-time 30s --checkpoint-every never' ]
  # Without the variable, squeue says how much time is left.
  end_time=''
  for case in 5:15=300 9:09=534 1:00:15=3600 1:08:15=4080 2-01:01:16=176461 08-09:00:15=723600 UNLIMITED= INVALID=; do
    make_squeue "${case%=*}"
    start run 'done 0'
    ends_with 0
    limit=${case#*=}
    [ "$(options)" = "--checkpoint-every 4h${limit:+ --max-time $limit}" ]
  done
  start run 'done 0' --model m.onnx
  ends_with 0
  [ "$(options)" = '' ]
}

@test "ranks are started by the --mpi that their MPI library speaks and srun offers" {
  rm build/spdnn
  make_command ldd <<<'cat libraries'
  cp bin/ldd build/spdnn
  : >build/spdnn-mpi.so
  starts_by() {
    printf '\t%s => /opt/lib (0x0000)\n' libc.so.6 "$1" >libraries
    start run 'done 0'
    ends_with 0
    grep -q -- " --mpi=$2 " started
  }
  printf '%s\n' 'MPI plugin types are...' none pmi2 pmix cray_shasta >offered
  starts_by libmpi.so.40 pmix
  starts_by libmpi.so.12 pmi2
  starts_by libmpich.so.12 pmi2
  starts_by libmpi_cray.so.12 cray_shasta
  starts_by libmpi_gnu_91.so.12 cray_shasta
  printf '%s\n' none pmi2 >offered
  starts_by libmpi_cray.so.12 pmi2
  starts_by libmpi.so.40 none
  printf '%s\n' pmix_v3 none >offered
  starts_by libmpi.so.40 none
  echo SPDNN_MPI_TYPE=pmi1 >>jobs/site.sh
  starts_by libmpi.so.40 pmi1
}

@test "Slurm's fences are rings, unless the user chooses another algorithm" {
  # starts_with ALGORITHM: what srun gets.
  starts_with() {
    start run 'done 0'
    ends_with 0
    [ "$(cat fence)" = "$1" ]
  }
  starts_with ring
  export SLURM_PMIX_FENCE=tree
  starts_with tree
}

@test "of a program with plug-ins for several MPI libraries, those count whose library is here" {
  printf '%s\n' none pmi2 pmix >offered
  rm build/spdnn
  make_command program <<<'exit 0'
  mv bin/program build/spdnn
  : >build/spdnn-openmpi.so
  : >build/spdnn-mpich.so
  : >build/spdnn-mpich-debian.so
  # starts_by TYPE MISSING...: the launcher's type where these plug-ins lack their library.
  starts_by() {
    local type=$1
    printf '%s.so\n' "${@:2}" >missing
    make_command ldd <<<'if grep -qxF "${1##*/}" missing; then echo "libmpi.so => not found"; else echo "libmpi.so => /lib"; fi'
    start run 'done 0'
    ends_with 0
    grep -q -- " --mpi=$type " started
  }
  starts_by pmix spdnn-mpich spdnn-mpich-debian
  starts_by pmi2 spdnn-openmpi spdnn-mpich
  starts_by pmi2 spdnn-openmpi spdnn-mpich-debian
  starts_by none spdnn-openmpi spdnn-mpich spdnn-mpich-debian
  # Those of an installed program lie beside its folder.
  mkdir -p lib/spdnn
  mv build/spdnn-mpich-debian.so lib/spdnn
  starts_by pmi2 spdnn-openmpi spdnn-mpich
  # Those of a program that a link leads to lie where the program does.
  mkdir -p software
  mv build/spdnn build/spdnn-openmpi.so software
  ln -s ../software/spdnn build/spdnn
  starts_by pmix spdnn-mpich spdnn-mpich-debian
}

@test "a job whose results cannot be written any more ends with the program's exit code" {
  chmod 555 "$results"
  start run 'fail 3'
  ends_with 3
  grep -q '/run.failed could not be written$' "$results"/logs/*
}
