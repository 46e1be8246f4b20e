# shellcheck shell=bash
# Sourced by job scripts, under any scheduler: makes one run of several jobs, each of which continues from the checkpoint that
# the job before it left. A run's files begin with the same words, FILES here: FILES.json is the result, FILES.checkpoint what
# spdnn infer --checkpoint writes, at a stop and every 15 minutes, FILES.requeues what gets_further() notes.
#
# A job is submitted again if and only if the checkpoint is there, the job has written no result, and nobody has ended it.
# Exit codes decide nothing, as launchers change them: where the program leaves with 5, mpirun of Open MPI may end with 1,
# mpiexec of MPICH with 0.

# SIGUSR1 for the script means that its time is nearly up, SIGTERM or SIGINT that somebody or something ends the job.
stopping='' ended_from_outside=''
trap 'stopping=yes' USR1
trap 'stopping=yes ended_from_outside=yes' TERM INT

# shellcheck source=jobs/try.sh
. "$(dirname "${BASH_SOURCE[0]}")/try.sh"

# Runs a command, such as srun, which hands on what signals it gets, and returns its exit code. A request to stop is repeated
# until the command has ended, because a launcher that is just starting its ranks loses signals.
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
      wait "$step" || true # which a trap ends early
    fi
  done
  wait "$step" || code=$? # can be asked for again
  return "$code"
}

# A signal that ends the job may reach the ranks before this script. It also ends the `sleep`.
wait_for_signals() { sleep 2 || true; }

# What changes when a file is replaced by another.
stamp() { stat -c '%i %y' "$1" 2>/dev/null || echo 'no file'; }

# begin_part FILES: remembers the result that is there before the program runs, for has_result FILES after it.
begin_part() { result_before=$(stamp "$1.json"); }
has_result() { [[ -e $1.json && $(stamp "$1.json") != "$result_before" ]]; }

# code_with_result CODE: prints the exit code of a job whose result is there. `timeout`, which ends with 124, or a signal came
# too late to stop it.
code_with_result() { if [ "$1" -eq 5 ] || [ "$1" -ge 124 ]; then echo 0; else echo "$1"; fi; }

# gets_further FILES LIMIT: whether the run may go on: it has not stopped more than LIMIT times in a row without getting further.
# Notes keep a checksum of the images and layers that the checkpoint had left, and how often in a row that was the same; a
# run that has no checkpoint never gets further. Sets `fruitless`, the stops in a row.
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

# run_part FILES COMMAND...: runs spdnn infer by COMMAND, to its end or to a checkpoint, and returns what the launcher does.
run_part() {
  local files=$1
  shift
  begin_part "$files"
  run_step "$@" --json "$files.json" --checkpoint "$files.checkpoint" --progress never
}

# end_part FILES CODE COMMAND...: ends the job after run_part, which returned CODE. COMMAND submits the job again where the run
# is to go on; the exit code is 5 then, as it is where a run that stopped does not.
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
