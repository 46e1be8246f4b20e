# shellcheck shell=bash
# Sourced by job scripts of any scheduler: splits one run over several jobs, each of which continues from the checkpoint of the
# job before it. A run's files share a prefix, FILES: FILES.json is the result, FILES.checkpoint is written by spdnn infer
# --checkpoint at a stop and every 15 minutes, and FILES.requeues holds the notes of gets_further().
# A job is submitted again if and only if the checkpoint exists, the job has written no result, and it was not cancelled. Exit
# codes are ignored, because launchers change them: if the program exits with 5, Open MPI's mpirun may exit with 1, MPICH's
# mpiexec with 0.

# SIGUSR1 to the script means that its time is nearly up, SIGTERM or SIGINT that the job was cancelled.
stopping='' ended_from_outside=''
trap 'stopping=yes' USR1
trap 'stopping=yes ended_from_outside=yes' TERM INT

# shellcheck source=jobs/try.sh
. "$(dirname "${BASH_SOURCE[0]}")/try.sh"

# Runs a command that forwards signals, such as srun, and returns its exit code. Repeats a request to stop until the command has
# ended, because launchers lose signals while they start their ranks.
run_step() {
  local code=0 step
  [ -z "$stopping" ] || return 5
  "$@" &
  step=$!
  while kill -0 "$step" 2>/dev/null; do
    if [ -n "$stopping" ]; then
      kill -USR1 "$step" 2>/dev/null || true
      sleep 1
    else
      wait "$step" || true # a trap ends `wait` early
    fi
  done
  wait "$step" || code=$? # returns the same code again
  return "$code"
}

# A signal that cancels the job may reach the ranks before this script. It also interrupts `sleep`.
wait_for_signals() { sleep 2 || true; }

# Prints inode and modification time, which change when the file is replaced.
stamp() { stat -c '%i %y' "$1" 2>/dev/null || echo 'no file'; }

# begin_part FILES: remembers an older result before the program runs, for has_result FILES after it.
begin_part() { result_before=$(stamp "$1.json"); }
has_result() { [[ -e $1.json && $(stamp "$1.json") != "$result_before" ]]; }

# code_with_result CODE: prints the exit code of a job that has written its result. Codes 5, 124 (`timeout`) and those of signals
# become 0: the request to stop came after the result.
code_with_result() { if [ "$1" -eq 5 ] || [ "$1" -ge 124 ]; then echo 0; else echo "$1"; fi; }

# gets_further FILES LIMIT: succeeds unless the run has stopped more than LIMIT times in a row without progress. FILES.requeues
# holds a checksum of the work that the checkpoint leaves, and how many times in a row it was the same; a run without a
# checkpoint makes no progress. Sets `fruitless`, the number of consecutive stops without progress.
gets_further() {
  local notes=$1.requeues sum last='' times=0
  sum=$(sed -nE 's/.*"left":(.*),"activations":.*/\1/p' "$1.checkpoint" 2>/dev/null | cksum) || sum='no checkpoint'
  if [ -r "$notes" ]; then { read -r last && read -r times; } <"$notes"; fi
  if [ "$sum" = "$last" ]; then times=$((times + 1)); else times=0; fi
  fruitless=$((times + 1))
  if [ "$times" -gt "$2" ]; then
    rm -f "$notes"
    return 1
  fi
  printf '%s\n%s\n' "$sum" "$times" >"$notes"
}

# run_part FILES COMMAND...: runs spdnn infer by COMMAND, to its end or to a checkpoint, and returns the launcher's exit code.
run_part() {
  local files=$1
  shift
  begin_part "$files"
  run_step "$@" --json "$files.json" --checkpoint "$files.checkpoint" --progress never
}

# end_part FILES CODE COMMAND...: ends the job after run_part, which returned CODE. If the run should continue, COMMAND submits
# the job again. The exit code is 5 for every unfinished run with a checkpoint, submitted again or not.
end_part() {
  local files=$1 code=$2
  shift 2
  wait_for_signals
  if has_result "$files"; then
    rm -f "$files.requeues"
    code=$(code_with_result "$code")
  elif [ ! -e "$files.checkpoint" ]; then
    echo "jobs: no result and no checkpoint, exit code $code" >&2
    [ "$code" -ne 0 ] || code=4
  else
    code=5
    if [ -n "$ended_from_outside" ]; then
      echo "jobs: ended from outside; submitted again, it continues" >&2
    elif ! gets_further "$files" 2; then
      echo "jobs: stopped $fruitless times without getting further; not submitted again" >&2
    elif try 7 "$@"; then
      echo "jobs: stopped at a checkpoint, submitted again" >&2
    else
      echo "jobs: stopped at a checkpoint, and could not be submitted again" >&2
    fi
  fi
  exit "$code"
}
