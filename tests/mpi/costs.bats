#!/usr/bin/env bats
# The costs of four ranks on one machine beside those of one: files are read once, by the ranks together if each reads a part
# of the images; the network is in memory once, and so are the images. The numbers are printed.

load ../support/ranks
load ../support/computing

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$SPDNN" generate network --family random --neurons 4096 --layers 120 --degree 32 --weights normal:0.06:0.01 \
    --bias -0.3 --out large.spdnn
  "$SPDNN" generate network --family random --neurons 4096 --layers 1 --degree 1 --bias -0.3 --out tiny.spdnn
  "$SPDNN" generate inputs --family digits --neurons 4096 --images 2000 --out i.spdnn
  "$SPDNN" convert i.spdnn i.tsv
  "$SPDNN" generate inputs --family digits --neurons 4096 --images 120000 --out many.spdnn
}

setup() { cd "$BATS_FILE_TMPDIR" || return 1; }

# say TEXT: prints it even if the test passes.
say() { echo "# $library: $*" >&3; }

# infer NETWORK [IMAGES]: sets the arguments.
infer() { infer=(infer --network "$1" --inputs "${2:-i.spdnn}" --device cpu --reduce none --progress never); }

# reads N FILE [OPTIONS...]: sets `bytes`, which N ranks of one thread each read from this file in all; `readers`, the number of
# threads that read at least a tenth of them; and `most` and `least`, the extremes of these threads.
reads() {
  strace -f -qq -o calls -P "$2" -e trace=read,pread64,readv,preadv,preadv2,mmap "$mpirun" -n "$1" "$SPDNN" "${infer[@]}" \
    --threads 1 "${@:3}" >report
  if grep mmap calls >&2; then return 1; fi
  read -r bytes readers least most < <(awk '
    / = [0-9]+$/ { of[$1] += $NF; bytes += $NF }
    END {
      for (process in of) {
        if (of[process] < bytes / 10) continue
        if (!readers++ || of[process] < least) least = of[process]
        if (of[process] > most) most = of[process]
      }
      print bytes + 0, readers + 0, least + 0, most + 0
    }' calls)
}

@test "four ranks read at most 1.1 times as many bytes of the network and the images as one" {
  strace -o calls true || skip "needs strace, and to be allowed to trace"
  for library in openmpi mpich; do
    use_mpi $library
    for images in i.spdnn i.tsv; do
      infer large.spdnn $images
      for file in large.spdnn $images; do
        reads 1 $file
        one=$bytes
        reads 4 $file
        say "$file has $(stat -c %s $file) bytes; one rank reads $one, four read $bytes: $readers of them, $least to $most each"
        [ "$one" -ge "$(stat -c %s $file)" ]
        [ $((bytes * 10)) -le $((one * 11)) ]
        [ $file = large.spdnn ] || { [ "$readers" -eq 4 ] && [ $((least * 2)) -ge "$most" ]; }
      done
    done
  done
}

# peaks N OPTIONS...: the most memory that each of N ranks has had, in kB, by rank.
peaks() {
  under_mpi -n "$1" python3 -c '
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[1:], close_fds=False)
rank = os.environ.get("OMPI_COMM_WORLD_RANK") or os.environ["PMI_RANK"]
open(f"peak.{rank}", "w").write(f"{resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss}\n")
sys.exit(code)' "$SPDNN" "${infer[@]}" --threads 1 "${@:2}" >report
  mapfile -t peaks < <(cat peak.*)
}

@test "rank 0 needs no more memory than the others, which have a part of the images each" {
  all=$(($(stat -c %s many.spdnn) / 1024))
  infer tiny.spdnn many.spdnn
  for library in openmpi mpich; do
    use_mpi $library
    peaks 4
    say "the images take $all kB; the ranks have had at most ${peaks[*]} kB"
    for rank in 1 2 3; do [ "${peaks[0]}" -le $((peaks[rank] + all / 4)) ]; done
  done
}

@test "rank 0 plans a network as it is read, and needs no memory for all of it, nor to verify" {
  network=$((16384 * 120 * 32 * 4 / 1024)) # kB: an index for each edge
  "$SPDNN" generate network --family official --neurons 16384 --layers 120 --out official.spdnn
  "$SPDNN" generate inputs --family digits --neurons 16384 --images 200 --out wide.spdnn
  for library in openmpi mpich; do
    use_mpi $library
    for options in '' '--verify 5'; do
      infer=(infer --network official.spdnn --inputs wide.spdnn --device cpu --progress never)
      # shellcheck disable=SC2086  # two words, or none
      peaks 4 $options
      say "the network takes $network kB; the ranks have had at most ${peaks[*]} kB, $options"
      for rank in 1 2 3; do [ "${peaks[0]}" -le $((peaks[rank] + network / 2)) ]; done
    done
  done
}

# stop_alone: stops a run of one process amid its layers; writes the checkpoint `stopped` and the activations beside it.
stop_alone() {
  "$SPDNN" "${infer[@]}" --threads 1 --checkpoint stopped --checkpoint-every never >stdout 2>stderr 3>&- &
  until compute $!; do
    sleep 0.1
    kill -0 $!
  done
  kill -USR1 $!
  ! wait $!
  cat stderr
  mv stopped.*.spdnn activations
  name=$(jq -r '.activations[0]' stopped).spdnn
}

@test "ranks that continue a run read its activations together, each a part, and rank 0 needs no more memory than the others" {
  strace -o calls true || skip "needs strace, and to be allowed to trace"
  "$SPDNN" generate network --family random --neurons 4096 --layers 200 --degree 8 --weights normal:0.125:0.02 --bias 0 \
    --out dense.spdnn
  "$SPDNN" generate inputs --family digits --neurons 4096 --images 8000 --out i8000.spdnn
  infer dense.spdnn i8000.spdnn
  stop_alone
  all=$(($(stat -c %s activations) / 1024))
  [ "$all" -gt 100000 ]
  for library in openmpi mpich; do
    use_mpi $library
    for run in peaks reads; do
      rm -f c c.*
      cp stopped c
      cp activations "c.$name"
      if [ $run = peaks ]; then
        peaks 4 --checkpoint c
        say "the activations take $all kB; the ranks have had at most ${peaks[*]} kB"
        for rank in 1 2 3; do [ "${peaks[0]}" -le $((peaks[rank] + all / 4)) ]; done
      else
        reads 4 "c.$name" --checkpoint c
        say "the activations have $all kB; $readers of four ranks read $bytes bytes, $least to $most each"
        [ $((bytes * 10)) -le $((all * 1024 * 11)) ]
        [ "$readers" -eq 4 ]
        [ $((least * 2)) -ge "$most" ]
      fi
    done
  done
}

# kilobytes: prints the memory of the job's spdnn processes; shared memory counts once.
kilobytes() {
  local process
  for process in $(program_processes); do cat "/proc/$process/smaps_rollup"; done |
    awk '/^Pss:/ { sum += $2 } END { print sum + 0 }'
}

# memory_of N NETWORK LEAST: prints the memory of N ranks while they compute, in kB, as soon as it is LEAST and settled but for
# the effect of other processes that share libraries with them.
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
