#!/usr/bin/env bats
# shellcheck disable=SC2154  # support/jobs.bash sets them
# The job scripts for PBS, for LSF and for Slurm without submit.sh, with commands that take the place of the schedulers' and of
# launchers: they are submitted again if and only if a checkpoint is there, no result is, and nobody has ended the job.

setup() {
  load ../support/jobs
  load ../support/sampled
  make_site
  cp jobs/examples/*.sh .
  sed -i "s|^spdnn=.*|spdnn='$site/build/spdnn'|; s|^jobs=.*|jobs='$site/jobs'|" ./*.sh
  make_scheduler
}

teardown() { if [ -e log ]; then cat log; fi; }

# start_job SCRIPT: starts a job as a scheduler does, a copy of the script in a session of its own; the number of the process
# goes to the file `job`, the exit code to `ended`. Slurm is too busy to queue a job again the first time that it is asked.
make_scheduler() {
  make_command start_job <<'END'
echo "$1" >>submitted
cp "$1" spooled.sh
export PBS_O_WORKDIR=$PWD PBS_NODEFILE=$PWD/nodes LS_SUBCWD=$PWD SLURM_JOB_ID=7 SLURM_CPUS_PER_TASK=16
[ "$1" = slurm.sh ] || cd /
setsid bash -c 'echo $$ >"$0/job"; trap : TERM INT; bash "$0/spooled.sh"; echo $? >>"$0/ended"' "$PBS_O_WORKDIR" \
  >>"$PBS_O_WORKDIR/log" 2>&1 3>&- &
END
  make_command qsub <<<'[ "${1#"$PWD/"}" = pbs.sh ] && exec start_job pbs.sh'
  make_command bsub <<<'[ $# -eq 0 ] && cmp -s - lsf.sh && exec start_job lsf.sh'
  make_command sbatch <<<'[ "$1" = slurm.sh ] && exec start_job slurm.sh'
  make_command scontrol <<<'[ "$*" = "requeue 7" ] && echo >>asked && [ "$(wc -l <asked)" -gt 1 ] && exec start_job slurm.sh'
  make_launcher mpirun
  make_launcher srun
}

# begin EXAMPLE START...: submits an example, for whose launcher these are the lines of `starts`.
begin() {
  example=$1
  shift
  rm -f submitted ended started asked signalled first.*
  printf '%s\n' "$@" >starts
  submit
}
submit() {
  case $example in
    pbs) qsub pbs.sh ;;
    lsf) bsub <lsf.sh ;;
    slurm) sbatch slurm.sh ;;
  esac
}

computes() { [ -e computing ]; }
is_over() { [ "$(wc -l <ended)" -eq "$(wc -l <submitted)" ]; }

# Waits until the job runs, and lets its time be up: `timeout` or Slurm's --signal say so.
let_time_be_up() {
  within 600 computes
  if [ "$example" = slurm ]; then
    pkill -USR1 -P "$(cat job)"
  else
    kill -ALRM "$(tail -n 1 started | cut -d ' ' -f 1)"
  fi
  within 600 eval '! computes'
}

# ended_with CODE...: waits for the end of all jobs, whose exit codes these are.
ended_with() {
  within 600 is_over
  [ "$(xargs <ended)" = "$*" ]
}

# started EXAMPLE: the arguments that its launcher gets, each time.
started() {
  case $1 in
    pbs) echo -n "-n 8 --hostfile $PWD/nodes --bind-to none" ;;
    lsf) echo -n '-n 8 --bind-to none' ;;
    slurm) echo -n '--kill-on-bad-exit=1 --mpi=pmix --cpus-per-task=16 --cpu-bind=cores' ;;
  esac
  echo " $site/build/spdnn infer --generate official --neurons 16384 --layers 1920 --mnist build/data/train-images-idx3-ubyte.gz" \
    "--checkpoint-every 15m --max-time $([ "$1" = slurm ] && echo 3500 || echo 3300)" \
    "--json first.json --checkpoint first.checkpoint --progress never"
}

@test "a run that is stopped continues in further jobs until its result is there, whatever the launcher's exit codes are" {
  for name in pbs lsf slurm; do
    begin "$name" 'stop 1 900' 'stop 0 500' 'stop 143 100' 'done 0'
    for _ in 1 2 3; do let_time_be_up; done
    ended_with 5 5 5 0
    [ "$(ls first.*)" = first.json ]
    [ "$(cut -d ' ' -f 2- started | uniq)" = "$(started "$name")" ]
    [ "$(uniq signalled)" = USR1 ]
    [ "$name" != slurm ] || [ "$(cat fence)" = ring ]
  done
}

@test "a run that is stopped continues although an older result is there" {
  begin pbs 'done 0' 'stop 1 900' 'done 0'
  ended_with 0
  submit
  let_time_be_up
  ended_with 0 5 0
}

@test "a job that somebody ends is not submitted again, and continues once somebody submits it" {
  for name in pbs lsf slurm; do
    for target in group script; do
      for code in $(sampled 0 '1 0'); do
        begin "$name" "stop $code 900" 'done 0'
        within 600 computes
        if [ "$target" = group ]; then
          [ "$name" != lsf ] || kill -INT -- "-$(cat job)"
          kill -TERM -- "-$(cat job)"
        else
          pkill -TERM -P "$(cat job)"
        fi
        ended_with 5
        [ -s first.checkpoint ]
        grep -q '^jobs: ended from outside; submitted again, it continues$' log
        submit
        ended_with 5 0
      done
    done
  done
}

@test "a job that the scheduler does not take again says so, and ends as a stopped one" {
  for name in pbs lsf slurm; do
    begin "$name" 'stop 1 900'
    within 600 computes
    for command in qsub bsub scontrol; do make_command "$command" <<<'echo >>refused; exit 1'; done
    rm -f refused
    let_time_be_up
    ended_with 5
    grep -q '^jobs: stopped at a checkpoint, and could not be submitted again$' log
    [ "$(wc -l <refused)" -eq 7 ]
    rm log
    make_scheduler
  done
}

@test "a job without a checkpoint, or with its result, is not submitted again" {
  for name in pbs lsf slurm; do
    begin "$name" 'fail 3'
    ended_with 3
    # A launcher may say that all is well.
    begin "$name" 'fail 0'
    ended_with 4
    # Wrong categories.
    begin "$name" 'done 1'
    ended_with 1
    # The signal came when all was done.
    for code in $(sampled 124 '5 124 143'); do
      begin "$name" "done $code"
      ended_with 0
    done
  done
}

@test "a job that crashes continues from its last checkpoint while it gets further, and gives up where it does not" {
  for name in pbs lsf slurm; do
    begin "$name" 'crash 137 900' 'crash 137 900' 'crash 137 800' 'done 0'
    ended_with 5 5 5 0
    begin "$name" 'crash 137 900' 'crash 137 900' 'crash 137 900' 'crash 137 900' 'done 0'
    ended_with 5 5 5 5
    grep -q '^jobs: stopped 4 times without getting further; not submitted again$' log
  done
}

@test "schedulers find their directives before the first command" {
  for pair in pbs:PBS lsf:BSUB slurm:SBATCH; do
    awk -v word="#${pair#*:}" '
      NR == 1 && $0 != "#!/usr/bin/env bash" { exit bad = 1 }
      $1 == word { ++directives; if (commands || $2 !~ /^-/) exit bad = 1 }
      !/^#/ { ++commands }
      END { exit bad || directives < 4 || !commands }' "jobs/examples/${pair%:*}.sh"
  done
}

@test "the examples ask for two nodes of four ranks and four GPUs each, as many ranks as their launchers start" {
  [ "$(grep -h '^#PBS' pbs.sh | xargs)" = \
    '#PBS -N spdnn #PBS -l select=2:ncpus=64:mpiprocs=4:ngpus=4 #PBS -l walltime=01:00:00 #PBS -j oe' ]
  [ "$(grep -h '^#BSUB' lsf.sh | xargs)" = \
    '#BSUB -J spdnn #BSUB -n 8 #BSUB -R span[ptile=4] #BSUB -gpu num=4 #BSUB -W 60 #BSUB -o spdnn.%J.log' ]
  [ "$(grep -hE '^#SBATCH --(job-name|nodes|ntasks|gpus|cpus|output)' slurm.sh | xargs)" = '#SBATCH --job-name=spdnn #SBATCH --nodes=2 '\
'#SBATCH --ntasks-per-node=4 #SBATCH --gpus-per-task=1 #SBATCH --cpus-per-task=16 #SBATCH --output=%x-%j.log' ]
}

# seconds_of SCRIPT: what it gives its ranks.
seconds_of() { sed -nE 's/^seconds=([0-9]+) .*/\1/p' "$1"; }

@test "the examples' ranks stop within the time limit, with time for a checkpoint, and Slurm signals and requeues the job" {
  local limit
  limit=$((60 * $(sed -n 's/^#SBATCH --time=//p' slurm.sh)))
  [ "$(seconds_of slurm.sh)" -lt "$limit" ]
  [ "$(seconds_of slurm.sh)" -gt $((limit - 300)) ] # the signal comes first
  grep -qx '#SBATCH --signal=B:USR1@300' slurm.sh   # to the script, which passes it on
  grep -qx '#SBATCH --requeue' slurm.sh
  grep -qx '#SBATCH --open-mode=append' slurm.sh
  grep -qx '#PBS -l walltime=01:00:00' pbs.sh
  grep -qx '#BSUB -W 60' lsf.sh
  for script in pbs.sh lsf.sh; do
    [ "$(seconds_of $script)" -le 3300 ]
    [ "$(seconds_of $script)" -ge 3000 ]
  done
}
