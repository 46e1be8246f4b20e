# Runs of several ranks, for command line tests: `load ../support/ranks`. Every run ends within `limit` seconds, which only a
# hang reaches, however busy the machine is; then its exit code is 124 or 137.
# shellcheck disable=SC2034  # variables that the tests read

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

limit=600

# use_mpi [LIBRARY]: from now on runs are those of this MPI library, or else of one for which there are a launcher and a
# plug-in beside the program; fails where there is none.
use_mpi() {
  local name plugins
  plugins=$(dirname "$(realpath "$SPDNN")")
  for name in ${1:-openmpi mpich mpi}; do
    mpirun=$(type -P "mpirun${name/#/.}" || true)
    [ "$name" != mpi ] || mpirun=$(type -P mpirun || true)
    [ -n "$mpirun" ] && [ -e "$plugins/spdnn-$name.so" ] && library=$name && return
  done
  return 1
}

# under_mpi ARGUMENTS...: runs the launcher with these arguments.
under_mpi() { timeout -k 2 $limit "$mpirun" "$@"; }

# ranks N ARGUMENTS...: runs spdnn with these arguments on N ranks.
ranks() { under_mpi -n "$1" "$SPDNN" "${@:2}"; }

# said FILE: the lines in it that are spdnn's own and not the launcher's.
said() { grep '^spdnn: ' "$1"; }

# ends CODE COMMAND...: the command ends with this code; its output is in the files stdout and stderr.
ends() {
  local code=$1 status=0
  shift
  "$@" >stdout 2>stderr || status=$?
  printf '%s: %s\n' "$status" "$*" && cat stderr
  [ "$status" -eq "$code" ]
}

# says_once PATTERN: of what spdnn said, one line, it matches the pattern; after ends().
says_once() {
  [ "$(said stderr | wc -l)" -eq 1 ]
  # shellcheck disable=SC2053
  [[ $(said stderr) == $1 ]]
}

# start_job N ARGUMENTS...: the same in the background; `job` is then the process to wait for. Its errors are in the file
# `stderr`. All of its processes bear a mark in their environment.
start_job() {
  mark="SPDNN_TEST_JOB=$$-$BASHPID-$RANDOM$RANDOM"
  env "$mark" timeout -k 2 $limit "$mpirun" -n "$1" "$SPDNN" "${@:2}" >stdout 2>stderr 3>&- &
  job=$!
}

# job_processes: those of the job, and what they run.
job_processes() {
  local process name
  while read -r process; do
    process=${process%/environ}
    { read -r name <"$process/comm"; } 2>/dev/null && echo "${process#/proc/} $name"
  done < <(grep -lzxF "$mark" /proc/[0-9]*/environ 2>/dev/null)
  return 0
}

# launcher_process: that of mpirun itself.
launcher_process() { job_processes | awk '$2 ~ /^(mpirun|mpiexec|orterun|prterun)/ { print $1; exit }'; }

# program_processes: those of the job that run spdnn.
program_processes() { job_processes | awk '$2 == "spdnn" { print $1 }'; }

# working_processes: of each rank the process that does its work, recognised by the file that it has mapped or open, the plan
# or another that `works_by` names; it is a child of the process that the launcher knows.
works_by=memfd:spdnn
working_processes() {
  local process
  for process in $(program_processes); do
    if grep -qs "$works_by" "/proc/$process/maps" || [ -n "$(find "/proc/$process/fd" -lname "*$works_by*" 2>/dev/null)" ]; then
      echo "$process"
    fi
  done
  return 0
}

# rank_of PROCESS
rank_of() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^OMPI_COMM_WORLD_RANK=\|^PMI_RANK=//p'; }

# known_to_launcher PROCESS...: the parents of these.
known_to_launcher() {
  local process
  for process; do awk '{ print $4 }' "/proc/$process/stat"; done
}

# wait_until_working N: until N ranks work; `working` are their processes by rank. Fails where the job ends
# before.
wait_until_working() {
  local found=() process
  while [ "${#found[@]}" -lt "$1" ]; do
    kill -0 "$job" 2>/dev/null || return 1
    sleep 0.05
    mapfile -t found < <(working_processes)
  done
  working=()
  for process in "${found[@]}"; do working["$(rank_of "$process")"]=$process; done
}

# wait_for_job: `status` is its exit code, `seconds` what it took to end. Fails where a process of it is still there `limit`
# seconds later.
wait_for_job() {
  local begin=$SECONDS end left
  status=0
  wait "$job" || status=$?
  seconds=$((SECONDS - begin))
  end=$((SECONDS + limit))
  while [ "$SECONDS" -lt "$end" ]; do
    left=$(job_processes)
    [ -n "$left" ] || return 0
    sleep 0.05
  done
  echo "still there: $left"
  return 1
}
