#!/usr/bin/env bats
# Ranks of one machine that take images from a counter, while one of them is stopped for a while.

load ../support/ranks
load ../support/computing

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

# ticks PROCESS...: prints their total processor time.
ticks() {
  awk '{ sub(/^.*\) /, ""); sum += $12 + $13 } END { print sum }' "${@/#//proc/}"
}

# wait_until_done PROCESS...: waits until together they compute for less than 0.1 s in 2 s, as ranks that wait for others do.
# Their states say less: on a busy machine a process that wakes up waits for a processor.
wait_until_done() {
  local before after=0
  set -- "${@/%//stat}"
  until before=$after && after=$(ticks "$@") && [ $((after - before)) -lt $(($(getconf CLK_TCK) / 10)) ]; do
    sleep 2
    kill -0 "$job"
  done
}

@test "images that a stopped rank has not taken are run by the others" {
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 12000 --out i.spdnn
  infer=(infer --generate official --neurons 1024 --layers 720 --inputs i.spdnn --reduce none --device cpu --progress never)
  "$SPDNN" "${infer[@]}" --categories alone.tsv >report
  for library in openmpi mpich; do
    use_mpi $library
    start_job 3 "${infer[@]}" --threads 1 --deal counter --verify 8 --categories ranks.tsv --json ranks.json
    wait_until_working 3
    until compute "${working[@]}"; do
      sleep 0.1
      kill -0 "$job"
    done
    kill -STOP "${working[1]}"
    wait_until_done "${working[0]}" "${working[2]}"
    kill -CONT "${working[1]}"
    wait_for_job
    cat stderr
    [ "$status" -eq 0 ]
    cmp alone.tsv ranks.tsv
    jq -c .ranks.images ranks.json
    jq -e '.ranks.deal == "counter" and .ranks.images.min * 10 < .ranks.images.median * 9' ranks.json
  done
}

@test "images made from MNIST, verified: on ranks, from a counter and in fixed shares, stopped and continued" {
  local mnist options n
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  infer=(infer --generate official --neurons 1024 --layers 120 --mnist "$mnist" --reduce dead --device cpu --progress never)
  "$SPDNN" "${infer[@]}" --categories alone.tsv >report
  [ "$(wc -l <alone.tsv)" -eq 1812 ]
  for library in openmpi mpich; do
    use_mpi $library
    for options in "2 --deal counter" "3 --deal fixed" "7 --deal auto" "3 --checkpoint c --checkpoint-every 0.1"; do
      read -r n options <<<"$options"
      rm -f ranks.tsv
      # shellcheck disable=SC2086  # options are words
      ranks "$n" "${infer[@]}" $options --verify 40 --categories ranks.tsv >report
      grep '^verdict  *PASSED: 1812 categories, missing 0, extra 0' report
      cmp alone.tsv ranks.tsv
    done
    ranks 3 "${infer[@]}" --checkpoint c --checkpoint-every never --max-time 0.01 >report 2>stderr || cat stderr
    [ -e c ]
    ranks 2 "${infer[@]}" --checkpoint c --verify 40 --categories ranks.tsv >report
    grep '^verdict  *PASSED: 1812 categories, missing 0, extra 0' report
    cmp alone.tsv ranks.tsv
    [ ! -e c ]
  done
}
