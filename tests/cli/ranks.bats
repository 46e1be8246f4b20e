#!/usr/bin/env bats
# spdnn infer on several ranks, with whatever MPI library there is: the same results as of a run alone, one report, one
# message. tests/mpi has what takes longer: both libraries, kills, memory.

load ../support/ranks
load ../support/sampled

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  use_mpi || skip "needs MPI: mpirun, and the plug-in for its library beside the program"
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
  infer=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never)
}

@test "two and three ranks find the categories that one finds, planned and unplanned" {
  for reduce in all none; do
    "$SPDNN" "${infer[@]}" --reduce $reduce --categories alone.tsv
    [ -s alone.tsv ]
    for n in $(sampled 3 '2 3'); do
      ends 0 ranks $n "${infer[@]}" --reduce $reduce --categories ranks.tsv
      cmp alone.tsv ranks.tsv
      rm ranks.tsv
      grep -q "^ranks  *$n on 1 host; " stdout
      [ "$(grep -c '^verdict ' stdout)" -eq 1 ]
    done
  done
}

@test "the categories of all ranks are verified, compared and held against a list" {
  "$SPDNN" "${infer[@]}" --categories truth.tsv
  ends 0 ranks 3 "${infer[@]}" --truth truth.tsv --verify all --compare --json run.json
  grep -q '^verdict  *PASSED: ' stdout
  jq -e '.compared.same_categories and .verdict.status == "PASSED"' run.json
  sed '$d' truth.tsv >wrong.tsv
  ends 1 ranks 2 "${infer[@]}" --truth wrong.tsv
  grep -q '^verdict  *FAILED: .*extra 1' stdout
}

@test "activations that take several rounds to collect are those of one process" {
  "$SPDNN" generate network --family random --neurons 4096 --layers 1 --degree 64 --weights constant:0.01 --bias 0 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 4096 --images 2000 --out i.spdnn
  "$SPDNN" "${infer[@]}" --activations alone.npz
  [ "$(stat -c %s alone.npz)" -gt 50000000 ] # a round has at most 32 MiB
  ends 0 ranks 3 "${infer[@]}" --activations ranks.npz
  cmp alone.npz ranks.npz
}

@test "each rank streams a network that does not fit into memory" {
  "$SPDNN" generate network --family random --neurons 1024 --layers 120 --degree 16 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 50 --out i.spdnn
  infer+=(--threads 1)
  for reduce in all none; do
    "$SPDNN" "${infer[@]}" --reduce $reduce --categories alone.tsv
    [ -s alone.tsv ]
    "$SPDNN" "${infer[@]}" --reduce $reduce --host-memory 6M --json one.json
    for n in $(sampled 3 '2 3'); do
      ends 0 ranks $n "${infer[@]}" --reduce $reduce --host-memory 6M --categories ranks.tsv --json run.json
      cmp alone.tsv ranks.tsv
      rm ranks.tsv
      jq -es --argjson n $n '.[0].streamed.bytes_read > 0 and .[1].streamed.bytes_read == $n * .[0].streamed.bytes_read
        and .[0].streamed.layers_at_once == .[1].streamed.layers_at_once' one.json run.json
    done
  done
  ends 0 ranks 2 "${infer[@]}" --host-memory 6M --verify all --compare
  grep -q '^verdict  *PASSED: ' stdout
}

@test "a streamed run that SIGTERM stops goes on on another number of ranks, streamed or not" {
  "$SPDNN" generate network --family random --neurons 1024 --layers 400 --degree 16 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 2000 --out i.spdnn
  "$SPDNN" "${infer[@]}" --categories alone.tsv
  infer+=(--threads 1 --reduce none)
  start_job 2 "${infer[@]}" --categories ranks.tsv --host-memory 12M --checkpoint stopped
  works_by=/n.spdnn # which ranks other than the first open when they have joined
  wait_until_working 2
  for process in $(program_processes); do kill "$process" || true; done
  wait_for_job
  cat stderr
  [ "$status" -eq 5 ]
  says_once 'spdnn: stopped; the same command continues the run from stopped'
  [ ! -e ranks.tsv ]
  for file in stopped*; do cp "$file" "again${file#stopped}"; done
  for rest in '3 12M stopped' '1 auto again'; do
    read -r n memory checkpoint <<<"$rest"
    ends 0 ranks "$n" "${infer[@]}" --categories ranks.tsv --json run.json --host-memory "$memory" --checkpoint "$checkpoint"
    cmp alone.tsv ranks.tsv
    jq -e --arg memory "$memory" '.parts == 2 and (.streamed != null) == ($memory != "auto")' run.json
    [ -z "$(ls "$checkpoint"* 2>/dev/null)" ]
    rm ranks.tsv
  done
}

@test "ranks that find another network under the name than the first: one reports it, with exit code 3" {
  mkdir other
  "$SPDNN" generate network --family random --neurons 1024 --layers 120 --degree 16 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate network --family random --neurons 1024 --layers 120 --degree 16 --seed 3 --bias -0.1 --out other/n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 50 --out i.spdnn
  line=("$SPDNN" "${infer[@]}" --threads 1 --host-memory 6M)
  # shellcheck disable=SC2016
  ends 3 under_mpi -n 1 "${line[@]}" : -n 2 bash -c 'cd other && exec "$@"' bash "${line[@]}"
  says_once 'spdnn: rank 1 of 3 on *: n.spdnn: differs from the network that the first rank read under this name'
}

@test "the report is that of all ranks, each time the longest" {
  ends 0 ranks 3 "${infer[@]}" --trials 3 --json run.json
  [ "$(wc -l <run.json)" -eq 1 ]
  jq -e '.machine.ranks == 3 and .problem.images == 50 and .trials == 3 and .ranks.hosts == 1
    and .ranks.images == {min: 16, median: 17, max: 17}
    and (.ranks.upload, .ranks.infer | .min > 0 and .min <= .median and .median <= .max)
    and .ranks.upload.max == .seconds.upload and .ranks.infer.max <= .seconds.infer.max
    and (.seconds | .join > 0 and .share > 0
      and .total > .load + .join + .read + .plan + .share + .gather + .write)' run.json
  "$SPDNN" "${infer[@]}" --json alone.json
  for field in .problem .alive .verdict .passes; do
    diff <(jq "$field" alone.json) <(jq "$field" run.json)
  done
}

@test "with more ranks than images some have none" {
  printf '1\t1\t1\n1\t2\t1\n2\t40\t1\n' >two.tsv
  "$SPDNN" "${infer[@]/i.spdnn/two.tsv}" --categories alone.tsv
  ends 0 ranks 3 "${infer[@]/i.spdnn/two.tsv}" --categories ranks.tsv --json run.json --verify all --compare
  cmp alone.tsv ranks.tsv
  jq -e '.ranks.images.min == 0 and .problem.images == 2' run.json
}

@test "each rank reads a part of the images, in every form of file in which it can" {
  for n in tsv tsv.gz mtx; do "$SPDNN" convert i.spdnn i.$n; done
  "$SPDNN" "${infer[@]}" --categories alone.tsv
  for file in i.spdnn i.tsv i.tsv.gz i.mtx; do
    ends 0 ranks 3 "${infer[@]/i.spdnn/$file}" --categories ranks.tsv --json run.json --verify all
    cmp alone.tsv ranks.tsv
    case $file in *.spdnn | *.tsv) by="all ranks, each a part" ;; *) by="rank 0, which sent them" ;; esac
    jq -e --arg by "$by" '.images_read_by == $by and .verdict.status == "PASSED"' run.json
    grep -q "^images  *read by $by$" stdout
  done
  "$SPDNN" "${infer[@]}" --json run.json
  jq -e '.images_read_by == null' run.json
}

@test "images that a rank does not find, or finds in another file, are sent to it by the others" {
  "$SPDNN" convert i.spdnn i.tsv
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --seed 7 --out j.spdnn
  "$SPDNN" "${infer[@]}" --categories alone.tsv
  for file in i.spdnn i.tsv; do
    for there in nothing another; do
      [ "$file $there" != 'i.tsv another' ] || in_full || continue
      rm -rf other && mkdir other
      if [ $there = another ]; then "$SPDNN" convert j.spdnn other/$file; fi
      line=("$SPDNN" "${infer[@]/i.spdnn/$file}" --json run.json --categories ranks.tsv)
      # shellcheck disable=SC2016
      ends 0 under_mpi -n 2 "${line[@]}" : -n 1 bash -c 'cd other && exec "$@"' bash "${line[@]}"
      cmp alone.tsv ranks.tsv
      jq -e --arg file "$file" --arg host "$(hostname)" '.images_read_by == "2 of 3 ranks, each a part" and
        (.notes | any(. == $file + " is not the same file on 1 of 3 ranks, the first of which is rank 2 on " + $host +
          ": the others sent them their images"))' run.json
      rm ranks.tsv
    done
  done
}

@test "a changed byte of the images is reported as by one process, in every place" {
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 9000 --out j.spdnn
  "$SPDNN" generate network --family random --neurons 1024 --layers 2 --degree 8 --bias -0.1 --out n.spdnn
  for at in $(sampled '40 600000' '40 100 1000 600000 1100000'); do
    cp j.spdnn bad.spdnn
    printf 'x' | dd of=bad.spdnn bs=1 seek=$at conv=notrunc status=none
    ends 3 "$SPDNN" "${infer[@]/i.spdnn/bad.spdnn}"
    alone=$(sed 's/^spdnn: //' stderr)
    ends 3 ranks 3 "${infer[@]/i.spdnn/bad.spdnn}" --categories ranks.tsv
    says_once "spdnn: rank 0 of 3 on *: $alone"
  done
}

@test "an error in a file or in the command line is reported once, with its exit code" {
  "$SPDNN" convert i.spdnn i.tsv
  for n in 1 2 300; do
    awk -v n=$n 'NR == n { print "1\t1\tx" } { print }' i.tsv >bad.tsv
    ends 3 ranks 3 "${infer[@]/i.spdnn/bad.tsv}" --categories ranks.tsv
    says_once "spdnn: rank 0 of 3 on *: bad.tsv:$n:5: *"
  done
  ends 3 ranks 2 "${infer[@]}" --json missing/run.json
  says_once 'spdnn: rank 0 of 2 on *: missing/run.json: cannot write: No such file or directory'
  ends 2 ranks 3 "${infer[@]}" --trials 0
  says_once 'spdnn: rank 0 of 3 on *: --trials: *'
  [ ! -e ranks.tsv ]
}

@test "ranks with other command lines: the first that differs says how, with exit code 2" {
  first=("$SPDNN" "${infer[@]}")
  ends 2 under_mpi -n 1 "${first[@]}" : -n 2 "${first[@]}" --checkpoint c --categories ranks.tsv
  says_once "spdnn: rank 1 of 3 on *: --categories: 'ranks.tsv' here, but not given on the first rank; expected the same options on all ranks"
  ends 2 under_mpi -n 2 "${first[@]}" --compare : -n 1 "${first[@]}"
  says_once 'spdnn: rank 2 of 3 on *: --compare: not given here, but given on the first rank; expected *'
  "$SPDNN" generate model --family lenet5 --out m.onnx
  "$SPDNN" generate tensors --shape 3,1,28,28 --out t.npy
  ends 2 under_mpi -n 1 "${first[@]}" : -n 1 "$SPDNN" infer --model m.onnx --inputs t.npy
  said stderr | grep -q 'spdnn: rank 1 of 2 on .* on the first rank; expected the same options on all ranks$'
  [ "$(said stderr | wc -l)" -eq 1 ]
  [ ! -e c ]
  [ ! -e ranks.tsv ]
  ends 0 under_mpi -n 1 "${first[@]}" --trials=2 : -n 1 "$SPDNN" infer --trials 2 "${infer[@]:1}" # in another order
}

@test "a rank with a program of another commit is named with both, with exit code 4" {
  commit=$("$SPDNN" --version | sed -n '1s/.*(commit \([^,)]*\).*/\1/p')
  other=$(tr '0-9a-y' '1-90b-z' <<<"$commit")
  mkdir other
  cp "$(dirname "$(realpath "$SPDNN")")"/*.so other/
  LC_ALL=C sed "s/$commit/$other/g" "$(realpath "$SPDNN")" >other/spdnn
  chmod +x other/spdnn
  other/spdnn --version | grep "(commit $other"
  ends 4 under_mpi -n 1 "$SPDNN" "${infer[@]}" : -n 1 other/spdnn "${infer[@]}"
  says_once "spdnn: rank 1 of 2 on *: this is spdnn *commit $other*, but the first rank runs spdnn *commit $commit*; expected the same program on all ranks"
}

@test "commands for one process are refused under a launcher" {
  ends 2 ranks 2 generate inputs --family digits --neurons 64 --images 50 --out j.spdnn
  says_once "spdnn: rank 0 of 2 on *: 'generate' is for one process, but a launcher started several"
  [ ! -e j.spdnn ]
  ends 0 ranks 1 variants
  for help in --help "infer --help"; do
    # shellcheck disable=SC2086
    ends 2 under_mpi -n 1 "$SPDNN" "${infer[@]}" : -n 1 "$SPDNN" $help
    says_once "spdnn: rank 1 of 2 on *: '--help' is for one process, but a launcher started several"
  done
  ends 0 ranks 1 infer --help
}

@test "a rank without memory is named with its host and the cause" {
  printf '1\t1\t1\n2\t5\t1\n' >few.tsv
  arguments=(infer --generate official --neurons 65536 --layers 24 --inputs few.tsv --reduce none --device cpu
    --progress never --categories ranks.tsv)
  # shellcheck disable=SC2016
  ends 4 under_mpi -n 1 "$SPDNN" "${arguments[@]}" : \
    -n 1 bash -c 'ulimit -v 200000; exec "$@"' bash "$SPDNN" "${arguments[@]}"
  says_once "spdnn: rank 1 of 2 on $(hostname): out of host memory"
  [ ! -e ranks.tsv ]
}

@test "under a launcher the program says which plug-in it misses" {
  cp -L "$SPDNN" elsewhere
  ends 4 under_mpi -n 2 ./elsewhere "${infer[@]}"
  says_once 'spdnn: rank 0*: a launcher *MPI cannot be used; there is no spdnn-*.so beside the program; make builds it where it finds mpicxx'
}

@test "processes that srun starts without PMI are no run of one rank" {
  ends 4 env SLURM_STEP_NUM_TASKS=2 SLURM_PROCID=1 "$SPDNN" "${infer[@]}" --categories ranks.tsv
  says_once 'spdnn: rank 1 of 2 on *: srun started 2 processes *--mpi=pmix for OpenMPI*--mpi=pmi2 for MPICH*'
  [ ! -e ranks.tsv ]
  ends 0 env SLURM_STEP_NUM_TASKS=1 "$SPDNN" "${infer[@]}"
}

@test "a process that takes itself for a rank, but has no launcher, says so" {
  for place in "PMI_RANK=1 PMI_SIZE=2" "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2"; do
    if [ "$library" = mpi ]; then place="PMIX_RANK=1 $place"; fi
    # Of two libraries a machine may have one alone.
    case $library:$place in openmpi:PMI_*) [ -e "$(dirname "$SPDNN")/spdnn-mpich.so" ] || continue ;; esac
    # shellcheck disable=SC2086
    ends 4 env $place "$SPDNN" "${infer[@]}" --categories ranks.tsv
    says_once 'spdnn: rank 1 of 2 on *: the environment says that this is one of 2 ranks, but no launcher answers *, for which this program was built: *'
    [ ! -e ranks.tsv ]
  done
}
