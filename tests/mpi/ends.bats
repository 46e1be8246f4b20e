#!/usr/bin/env bats
# Killed ranks, and jobs that get a signal to end, with OpenMPI and MPICH: the job ends, leaves no processes or
# temporaries, and the earlier outputs remain.

load ../support/ranks

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 5000 --out i.spdnn
  endless=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never --trials 1000000
    --categories c.tsv --json j.json)
  results=c.tsv
}

teardown() { # of a test that failed
  local process
  for process in $([ -z "${mark:-}" ] || job_processes | cut -d' ' -f1); do kill -9 "$process"; done
}

# shared_files: prints the files of the job's shared memory.
shared_files() {
  local process
  for process in "${working[@]}"; do grep -o '/dev/shm/[^ ]*' "/proc/$process/maps"; done | sort -u
}

# ends_after ACTION CODE[|CODE]...: a job of three ranks is computing when ACTION happens; it ends with such a code.
ends_after() {
  echo "old" | tee "$results" >j.json
  start_job 3 "${endless[@]}"
  wait_until_working 3
  mapfile -t shared < <(shared_files)
  mapfile -t known < <(known_to_launcher "${working[@]}")
  echo "$library: $1"
  eval "$1"
  wait_for_job
  echo "exit code $status after $seconds s" && cat stderr
  [[ $status =~ ^($2)$ ]]
  [ "$seconds" -lt "$limit" ]
  [ "$(cat "$results" j.json)" = $'old\nold' ]
  [ -z "$(find . -name '.spdnn-*')" ]
}

nothing_shared_is_left() {
  local file
  for file in "${shared[@]}"; do [ ! -e "$file" ]; done
}

killed_ranks_are_told() {
  for rank in 0 2; do
    # shellcheck disable=SC2016
    ends_after 'kill -9 "${working[$rank]}"' 4
    [ "$(said stderr | wc -l)" -eq 1 ]
    [[ $(said stderr) == "spdnn: rank $rank of 3 on $(hostname): ended by signal: Killed (for lack of memory, or by a user)" ]]
    nothing_shared_is_left
  done
}

@test "kill -9 of the process in which a rank works: the error names its rank and host, exit code 4" {
  for library in openmpi mpich; do
    use_mpi $library
    killed_ranks_are_told
  done
}

@test "kill -9 of the processes of all ranks at once" {
  for library in openmpi mpich; do
    use_mpi $library
    # shellcheck disable=SC2016
    ends_after 'kill -9 "${working[@]}"' 4
    said stderr | grep ' ended by signal: Killed'
    nothing_shared_is_left
  done
}

@test "kill -9 of the process that mpirun knows: the launcher decides the exit code" {
  for case in openmpi:137 mpich:9; do
    use_mpi ${case%:*}
    # shellcheck disable=SC2016
    for action in 'kill -9 "${known[1]}"' 'kill -9 "${known[@]}"'; do
      ends_after "$action" "${case#*:}"
      cat stdout stderr | grep -i -e 'signal 9' -e 'KILLED BY SIGNAL: 9'
      nothing_shared_is_left
    done
  done
}

@test "kill -9 of mpirun itself" {
  for library in openmpi mpich; do
    use_mpi $library
    # shellcheck disable=SC2016
    ends_after 'kill -9 "$(launcher_process)"' 137
    if [ "$library" = openmpi ]; then # leaves the memory in which its ranks talk to whoever cleans up
      [ "${#shared[@]}" -gt 0 ]
      for file in "${shared[@]}"; do [[ $file == /dev/shm/vader_segment.* ]]; done
      rm -f "${shared[@]}"
    else
      nothing_shared_is_left
    fi
  done
}

@test "SIGTERM to mpirun, as from a scheduler, and to one rank" {
  for case in openmpi:1:143 'mpich:0|9|15|255:15'; do
    IFS=: read -r name of_mpirun of_rank <<<"$case"
    use_mpi "$name"
    # shellcheck disable=SC2016
    ends_after 'kill "$(launcher_process)"' "$of_mpirun"
    nothing_shared_is_left
    # shellcheck disable=SC2016
    ends_after 'kill "${known[1]}"' "$of_rank"
    nothing_shared_is_left
    [ -z "$(said stderr)" ]
  done
}

@test "SIGUSR1 to one rank, for which MPICH has a handler of its own" {
  # MPICH's mpiexec ORs the statuses of all ranks: 10, the signal, and 9 of those that it kills then, are 11.
  for case in openmpi:138 "mpich:10|11"; do
    use_mpi "${case%:*}"
    # shellcheck disable=SC2016
    ends_after 'kill -USR1 "${known[1]}"' "${case#*:}"
    nothing_shared_is_left
  done
}

@test "without memory, on the first rank or another: the rank is named, exit code 4" {
  printf '1\t1\t1\n2\t5\t1\n3\t7\t1\n' >few.tsv
  arguments=(infer --generate official --neurons 65536 --layers 24 --inputs few.tsv --reduce none --device cpu
    --progress never --categories none.tsv)
  # shellcheck disable=SC2016
  poor=(bash -c 'ulimit -v 200000; exec "$@"' bash "$SPDNN" "${arguments[@]}")
  for library in openmpi mpich; do
    use_mpi $library
    for rank in 0 1; do
      first=("$SPDNN" "${arguments[@]}")
      second=("${first[@]}")
      if [ $rank -eq 0 ]; then first=("${poor[@]}"); else second=("${poor[@]}"); fi
      status=0
      under_mpi -n 1 "${first[@]}" : -n 1 "${second[@]}" >stdout 2>stderr || status=$?
      echo "$library, rank $rank: $status" && cat stderr
      [ "$status" -eq 4 ]
      [[ $(said stderr) == "spdnn: rank $rank of 2 on $(hostname): "*"out of host memory" ]]
      [ ! -e none.tsv ]
    done
  done
}

# From here on `endless` is the run of a model, whose ranks have taken their engine from oneDNN when they work.
of_model() {
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out m.onnx
  "$SPDNN" generate tensors --shape 300,1,28,28 --out t.npy
  endless=(infer --model m.onnx --inputs t.npy --progress never --trials 1000000 --logits l.csv --json j.json)
  results=l.csv
  works_by=libdnnl
  "$SPDNN" variants --models | grep -q '^conv_dense ' || skip "built without oneDNN"
}

@test "models: kill -9 of the process in which a rank works, and of all: exit code 4, as for networks" {
  of_model
  for library in openmpi mpich; do
    use_mpi $library
    killed_ranks_are_told
    # shellcheck disable=SC2016
    ends_after 'kill -9 "${working[@]}"' 4
    said stderr | grep ' ended by signal: Killed'
    nothing_shared_is_left
  done
}

@test "models: SIGTERM and SIGUSR1 to one rank, and SIGTERM to mpirun, end the job as for networks" {
  of_model
  for case in openmpi:1:143:138 'mpich:0|9|15|255:15:10|11'; do
    IFS=: read -r name of_mpirun of_rank of_usr1 <<<"$case"
    use_mpi "$name"
    # shellcheck disable=SC2016
    for action in 'kill "$(launcher_process)"':"$of_mpirun" 'kill "${known[1]}"':"$of_rank" 'kill -USR1 "${known[1]}"':"$of_usr1"; do
      ends_after "${action%:*}" "${action##*:}"
      nothing_shared_is_left
      [ -z "$(said stderr)" ]
    done
  done
}

# mixed CODE[|CODE] FIRST -- SECOND: a job of two ranks with different command lines ends with such a code within seconds.
mixed() {
  local code=$1 first=()
  shift
  while [ "$1" != -- ]; do first+=("$1") && shift; done
  shift
  status=0
  under_mpi -n 1 "$SPDNN" "${first[@]}" : -n 1 "$SPDNN" "$@" >stdout 2>stderr || status=$?
  echo "$library: ${first[*]} : $*: $status" && cat stderr
  [[ $status =~ ^($code)$ ]]
  [ "$(said stderr | wc -l)" -eq 1 ]
  [ ! -e none.tsv ]
}

@test "a command line that is bad on one rank alone: the error names that rank, exit code 2" {
  good=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never --categories none.tsv)
  for library in openmpi mpich; do
    use_mpi $library
    mixed 2 "${good[@]}" -- infer --bad
    [[ $(said stderr) == "spdnn: rank 1 of 2 on $(hostname): unrecognised option '--bad'"* ]]
    mixed 2 infer --bad -- "${good[@]}"
    [[ $(said stderr) == "spdnn: rank 0 of 2 on $(hostname): unrecognised option '--bad'"* ]]
    mixed 2 infer --bad -- infer --bad
    [[ $(said stderr) == "spdnn: rank 0 of 2 on $(hostname): unrecognised option '--bad'"* ]]
  done
}

@test "a rank that never joins is not waited for longer than --join-timeout" {
  good=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never --categories none.tsv --join-timeout 2)
  for case in 'openmpi:1|4' mpich:4; do # OpenMPI's launcher may decide by the rank that never joined
    use_mpi "${case%:*}"
    mixed "${case#*:}" "${good[@]}" -- --version
    [[ $(said stderr) == "spdnn: rank 0 of 2 on $(hostname): not all ranks started within 2 s (--join-timeout): "* ]]
  done
}

@test "a rank whose launcher has ended before it joined the others ends as well" {
  use_mpi mpich
  # Starts a rank as MPICH's launcher does, answers nothing, and ends when the rank has asked for something. The rank has both
# ends of the wire.
  cat >launcher.py <<'END'
import os, socket, subprocess, sys
mine, theirs = socket.socketpair()
wires = [mine.fileno(), theirs.fileno()]
place = {"PMI_FD": str(wires[1]), "PMI_RANK": "0", "PMI_SIZE": "2"}
subprocess.Popen(sys.argv[1:], env=os.environ | place, pass_fds=wires)
mine.recv(1)
os._exit(0)
END
  # What they say ends when the last of them has ended.
  # shellcheck disable=SC2016
  run timeout $limit bash -c 'python3 launcher.py "$@" 2>&1 | cat' bash \
    "$SPDNN" infer --network n.spdnn --inputs i.spdnn --device cpu --progress never --categories none.tsv
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "spdnn: rank 0 of 2 on $(hostname): the launcher has ended" ]
  [ ! -e none.tsv ]
}

@test "MPICH, which ends a program whose launcher does not answer, is not taken for a lack of memory" {
  use_mpi mpich
  status=0
  env PMI_FD=99 PMI_RANK=0 PMI_SIZE=2 "$SPDNN" infer --network n.spdnn --inputs i.spdnn --device cpu 2>stderr || status=$?
  cat stderr
  [ "$status" -eq 4 ]
  [[ $(said stderr) == "spdnn: rank 0 of 2 on $(hostname): MPI ended the program during start-up: "*" does not answer" ]]
}

@test "a rank without memory for the second run: the first run's results are written, the rank is named, exit code 4" {
  printf '1\t1\t1\n2\t5\t1\n3\t7\t1\n' >few.tsv
  arguments=(infer --generate official --neurons 65536 --layers 24 --inputs few.tsv --compare --verify all --device cpu
    --progress never)
  # shellcheck disable=SC2016
  poor=(bash -c 'ulimit -v 400000; exec "$@"' bash "$SPDNN")
  "$SPDNN" "${arguments[@]}" --categories alone.tsv
  for library in openmpi mpich; do
    use_mpi $library
    status=0
    under_mpi -n 1 "$SPDNN" "${arguments[@]}" --categories c.tsv --json j.json : -n 1 "${poor[@]}" "${arguments[@]}" \
      --categories c.tsv --json j.json >stdout 2>stderr || status=$?
    echo "$library: $status" && cat stdout stderr
    [ "$status" -eq 4 ]
    [[ $(said stderr) == "spdnn: rank 1 of 2 on $(hostname): "*"out of host memory" ]]
    cmp c.tsv alone.tsv
    jq -e '.verdict.status == "PASSED" and .compared == null' j.json
    grep -q '^verdict  *PASSED: ' stdout
    rm c.tsv j.json
  done
}
