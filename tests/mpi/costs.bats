#!/usr/bin/env bats
# What four ranks of one machine cost more than one: files are read once, and the network is in memory once. The numbers
# are printed.

load ../support/ranks
load ../support/computing

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$SPDNN" generate network --family random --neurons 4096 --layers 120 --degree 32 --weights normal:0.06:0.01 \
    --bias -0.3 --out large.spdnn
  "$SPDNN" generate network --family random --neurons 4096 --layers 1 --degree 1 --bias -0.3 --out tiny.spdnn
  "$SPDNN" generate inputs --family digits --neurons 4096 --images 2000 --out i.spdnn
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# say TEXT: also where the test passes.
say() { echo "# $library: $*" >&3; }

# infer NETWORK: sets the arguments.
infer() { infer=(infer --network "$1" --inputs i.spdnn --device cpu --reduce none --progress never); }

# bytes_read N FILE: by N ranks together from this file, through any call.
bytes_read() {
  strace -f -qq -o calls -P "$2" -e trace=read,pread64,readv,preadv,preadv2,mmap "$mpirun" -n "$1" "$SPDNN" "${infer[@]}" \
    >report
  if grep mmap calls >&2; then return 1; fi
  awk '/ = [0-9]+$/ { bytes += $NF } END { print bytes + 0 }' calls
}

@test "four ranks read at most 1.1 times as many bytes of the network and the images as one" {
  strace -o calls true || skip "needs strace, and to be allowed to trace"
  infer large.spdnn
  for library in openmpi mpich; do
    use_mpi $library
    for file in large.spdnn i.spdnn; do
      one=$(bytes_read 1 $file)
      four=$(bytes_read 4 $file)
      say "$file has $(stat -c %s $file) bytes; one rank reads $one, four read $four"
      [ "$one" -ge "$(stat -c %s $file)" ]
      [ $((four * 10)) -le $((one * 11)) ]
    done
  done
}

# kilobytes: of memory that the spdnn processes of the job have, what they share counted once.
kilobytes() {
  local process
  for process in $(program_processes); do cat "/proc/$process/smaps_rollup"; done |
    awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}

# memory_of N NETWORK LEAST: what N ranks have while they compute, in kB: as soon as it is LEAST and changes by no more
# than what others on this machine, who come and go with the same libraries, make of it.
memory_of() {
  local before=0 now=0 steady=0
  infer "$2"
  start_job "$1" "${infer[@]}" --trials 1000000
  # shellcheck disable=SC2046  # numbers
  until compute $(program_processes); do
    sleep 0.25
    kill -0 "$job"
  done
  while [ "$steady" -lt 3 ]; do
    sleep 0.25
    before=$now
    now=$(kilobytes)
    steady=$((now >= $3 && now - before < 5000 && before - now < 5000 ? steady + 1 : 0))
    kill -0 "$job"
  done
  kill "$(launcher_process)"
  wait_for_job
  memory=$now
}

@test "four ranks have the network in memory once: at most 1.3 times what it takes for one" {
  network=$((4096 * 120 * 32 * (4 + 4) / 1024)) # kB: for each edge an index and a weight
  for library in openmpi mpich; do
    use_mpi $library
    for n in 1 4; do
      memory_of $n tiny.spdnn 1000
      tiny=$memory
      memory_of $n large.spdnn "$network"
      say "$n ranks: $memory kB with the network, $tiny kB with hardly any; $((memory - tiny)) kB for $network kB of edges"
      needs[n]=$((memory - tiny))
    done
    [ $((needs[1] * 100)) -ge $((network * 95)) ]
    [ $((needs[4] * 10)) -le $((needs[1] * 13)) ]
  done
}
