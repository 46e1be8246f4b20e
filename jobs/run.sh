# shellcheck shell=bash
# shellcheck disable=SC2154  # variables are set in common.sh and in the jobs
# Sourced by the jobs after common.sh: runs the program as a step of the job and forwards requests to stop.
# Slurm's signals, as observed with 22.05: --signal=B:USR1@S signals this script only, S seconds before the time limit; scancel
# --signal=USR1 JOB, and SIGTERM at the beginning of a preemption's grace time, reach the ranks only; scancel JOB, scontrol
# requeue JOB and the time limit send SIGTERM to both, and the job leaves the state RUNNING. A rank that receives a signal
# writes the checkpoint and exits with code 5; without --checkpoint the signal kills it. If a node fails, Slurm requeues the
# job.

# shellcheck source=jobs/again.sh
. "$jobs/again.sh"

checkpoint=yes again='submitted again, it continues'

# For runs without checkpoints. They continue when the time limit is near: they may still end in time, and another job would
# have to begin anew. Commands inherit an ignored signal, but not an empty trap.
without_checkpoint() {
  checkpoint='' again='submitted again, it begins anew'
  trap : USR1
}

# Prints srun's --mpi type for the program: the first type that srun offers and that one of the program's MPI plug-ins
# supports. A plug-in counts if its MPI library is installed here. The library behind spdnn-mpi.so is recognised by its soname:
# libmpi.so.12 is MPICH's; libmpi_cray or libmpi_gnu, followed by a compiler's version, is HPE Cray's.
is_usable() { [[ -e $1 && $(ldd "$1" 2>&1) != *'not found'* ]]; }
mpi_type() {
  local offered type folder libraries wanted=''
  if [ -n "$SPDNN_MPI_TYPE" ]; then
    echo "$SPDNN_MPI_TYPE"
    return
  fi
  folder=$(dirname "$(realpath "$SPDNN_PROGRAM")")
  for folder in "$folder" "$folder/../lib/spdnn"; do
    if is_usable "$folder/spdnn-openmpi.so"; then wanted+=' pmix'; fi
    if is_usable "$folder/spdnn-mpich.so" || is_usable "$folder/spdnn-mpich-debian.so"; then wanted+=' pmi2'; fi
    if [ -e "$folder/spdnn-mpi.so" ]; then
      libraries=$(ldd "$folder/spdnn-mpi.so")
      case $libraries in
        *libmpi_cray* | *libmpi_gnu*) wanted+=' cray_shasta pmi2' ;;
        *libmpich* | *libmpi.so.12*) wanted+=' pmi2' ;;
        *) wanted+=' pmix' ;;
      esac
    fi
  done
  offered=$(srun --mpi=list 2>&1)
  for type in $wanted; do
    if grep -qw "$type" <<<"$offered"; then
      echo "$type"
      return
    fi
  done
  echo none
}

# The job's id for Slurm's commands: that of an array element is ARRAY_INDEX, because the last element shares its number with
# the array.
this_job=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID}
this_job=${this_job:-$SLURM_JOB_ID}
log=$SPDNN_RESULTS/logs/$SLURM_JOB_NAME-$this_job.log
# The program appends its errors to this file as well. Once a rank has failed, srun ends the step and may lose what ranks have
# just printed.
export SPDNN_ERROR_FILE=${log%.log}.errors
rm -f "$SPDNN_ERROR_FILE"

# srun's algorithm for fences of PMIx. With a tree, the default, the fence at the end of MPI_Init lets a node pass before the
# others have arrived, as observed with 22.05 on fewer nodes than TreeWidth: a message may then reach a rank of Open MPI that
# cannot receive yet, which ends by a segmentation fault, about once in 250 starts on two busy nodes.
export SLURM_PMIX_FENCE=${SLURM_PMIX_FENCE:-ring}

# fail NAME CODE WHY: writes the reason into NAME.failed, and ends the job.
ended=''
fail() {
  local file=$SPDNN_RESULTS/$1.failed
  ended=yes
  echo "jobs: $3" >&2
  { mkdir -p "$SPDNN_RESULTS" && printf '%s (job %s, log %s)\n' "$3" "$this_job" "$log" >"$file.$SLURM_JOB_ID" &&
    mv "$file.$SLURM_JOB_ID" "$file"; } || echo "jobs: $file could not be written" >&2
  exit "$2"
}

# Errors before the program runs, such as a missing module, are failures too.
end_job() {
  local code=$?
  rm -f "$SPDNN_ERROR_FILE"
  [ "$code" -eq 0 ] || [ -n "$ended" ] || fail "$name" "$code" "exit code $code: $(tail -n 1 "$log")"
}
trap end_job EXIT

# requeue NAME: queues the job again, unless it was cancelled or has made no progress too many times. If squeue does not report
# the job's state, SIGTERM decides: this script receives it only if the job was cancelled.
requeue() {
  local state files=$SPDNN_RESULTS/$1
  trap '' USR1 TERM INT
  state=$(try 5 squeue --noheader --jobs="$this_job" --format='%T %r') || state=''
  [ -n "$state" ] || [ -n "$ended_from_outside" ] || state='RUNNING, as far as this script knows'
  echo "jobs: the job's state is ${state:-unknown}"
  case $state in
    RUNNING* | SIGNALING*) ;; # running, or a signal is being delivered
    *TimeLimit*) rm -f "$files.requeues" && fail "$1" 5 "stopped at the time limit; $again" ;;
    *) rm -f "$files.requeues" && fail "$1" 5 "stopped from outside; $again" ;;
  esac
  gets_further "$files" "$SPDNN_FRUITLESS_REQUEUES" || fail "$1" 5 "stopped $fruitless times without getting further"
  echo "jobs: stopped${checkpoint:+ at a checkpoint}, queued again"
  ended=yes
  try 7 scontrol requeue "$this_job" || fail "$1" 5 "stopped, and Slurm did not queue the job again; $again"
  exit 5
}

# Logs the start of the job; log_of_start prints the log from there on.
begin() {
  begin_part "$SPDNN_RESULTS/$1"
  echo "jobs: $1, job $this_job, start $((${SLURM_RESTART_COUNT:-0} + 1)), $SLURM_NTASKS ranks on $SLURM_JOB_NODELIST"
}
log_of_start() { awk '/^jobs: .*, start [0-9]+/ { text = "" } { text = text $0 "\n" } END { printf "%s", text }' "$log"; }

# reason NAME: prints the complaint about the result of this start, or else the program's first error, if there is one.
reason() {
  local why=''
  if has_result "$SPDNN_RESULTS/$1"; then why=$(complaints "$SPDNN_RESULTS/$1.json" | cut -f 2-); fi
  if [ -z "$why" ] && [ -e "$SPDNN_ERROR_FILE" ]; then why=$(head -n 1 "$SPDNN_ERROR_FILE"); fi
  echo "$why"
}

# end_element NAME CODE: ends the job unless the step's exit code is 0. srun returns the highest code of all ranks, including
# those that it killed after another had ended; the code of the first rank that ended counts. A run that has a checkpoint and
# no result is requeued however it ended, except after errors of usage or data, which would recur.
end_element() {
  local name=$1 code=$2 first why
  [ "$code" -ne 0 ] || return 0
  wait_for_signals
  first=$(log_of_start | sed -nE 's/^srun: error: [^ ]+ tasks? [^ ]+: +//p' | head -n 1)
  if [[ $first =~ ^Exited\ with\ exit\ code\ ([0-9]+) ]]; then code=${BASH_REMATCH[1]}; fi
  # Signals kill ranks without --checkpoint, and ranks that have not yet installed their handlers.
  if [ "$code" -gt 128 ] && [[ -n $stopping || $first =~ ^(Terminated|User defined signal 1) ]]; then code=5; fi
  why=$(reason "$name")
  why="exit code $code: ${why:-${first:-$(tail -n 1 "$log")}}"
  [ "$code" -ne 5 ] || requeue "$name"
  if [[ -n $checkpoint && -e $SPDNN_RESULTS/$name.checkpoint && ! $code =~ ^[23]$ ]] && ! has_result "$SPDNN_RESULTS/$name"; then
    echo "jobs: $why" >&2
    requeue "$name"
  fi
  rm -f "$SPDNN_RESULTS/$name.requeues"
  fail "$name" "$code" "$why"
}

# Prints the seconds until the job's time limit, or nothing if unknown.
seconds_left() {
  local left
  if [ -n "${SLURM_JOB_END_TIME:-}" ]; then
    echo $((SLURM_JOB_END_TIME - $(date +%s)))
    return
  fi
  left=$(squeue --noheader --jobs="$this_job" --format=%L) || return 0
  [[ $left =~ ^(([0-9]+)-)?(([0-9]+):)?([0-9]+):([0-9]+)$ ]] || return 0
  echo $((((10#0${BASH_REMATCH[2]} * 24 + 10#0${BASH_REMATCH[4]}) * 60 + 10#${BASH_REMATCH[5]}) * 60 + 10#${BASH_REMATCH[6]}))
}

# Sets `keep`, the options of checkpoints, without those given among OPTION.... --max-time leaves `to_end` seconds to end the
# job.
keep_checkpoints() {
  local name=$1 left to_end=15
  shift
  keep=(--checkpoint "$SPDNN_RESULTS/$name.checkpoint")
  [[ " $* " == *" --checkpoint-every"* ]] || keep+=(--checkpoint-every "$SPDNN_CHECKPOINT_EVERY")
  left=$(seconds_left)
  if [[ -n $left && " $* " != *" --max-time"* ]]; then keep+=(--max-time $((left > to_end ? left - to_end : 1))); fi
}

# infer NAME OPTION...: runs spdnn infer on all ranks; at the end the result is written or the job is queued again.
infer() {
  local name=$1 code=0 threads=(--threads "$SPDNN_CPUS_PER_TASK") keep=() bind=()
  shift
  [ -z "$SPDNN_CPU_BIND" ] || bind+=(--cpu-bind="$SPDNN_CPU_BIND")
  [ -z "$SPDNN_GPU_BIND" ] || [ "$SPDNN_GPUS" = 0 ] || bind+=(--gpu-bind="$SPDNN_GPU_BIND")
  [ -z "$checkpoint" ] || keep_checkpoints "$name" "$@"
  [[ " $* " != *" --threads"* ]] || threads=()
  run_step srun --kill-on-bad-exit=1 --mpi="$(mpi_type)" --cpus-per-task="$SPDNN_CPUS_PER_TASK" "${bind[@]}" \
    "$SPDNN_PROGRAM" infer "$@" "${threads[@]}" --progress never --json "$SPDNN_RESULTS/$name.json" "${keep[@]}" || code=$?
  if has_result "$SPDNN_RESULTS/$name"; then
    code=$(code_with_result "$code")
  elif [ "$code" -eq 0 ]; then
    code=4
  fi
  end_element "$name" "$code"
  rm -f "$SPDNN_RESULTS/$name".{failed,requeues}
}
