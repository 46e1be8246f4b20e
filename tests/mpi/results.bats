#!/usr/bin/env bats
# With OpenMPI and MPICH, on 1, 2, 3 and 7 ranks, for every kind of network and images: the results of a run alone.

load ../support/ranks

setup() { cd "$BATS_TEST_TMPDIR" || return 1; }

make_inputs() {
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
}

# The fields of the JSON line on results, without those on the machine, the batches and the times.
result_fields='{problem, variant, passes, precision, stored_edges, verdict, alive, borderline, overflow}'

# same_on_ranks ARGUMENTS...: `spdnn infer ARGUMENTS` gives the same category file and the same results alone and on ranks.
same_on_ranks() {
  local n
  infer=(infer "$@" --device cpu --progress never)
  "$SPDNN" "${infer[@]}" --categories alone.tsv --json alone.json >report
  [ -s alone.tsv ]
  jq "$result_fields" alone.json >alone.results
  for library in openmpi mpich; do
    use_mpi $library
    for n in ${numbers_of_ranks:-1 2 3 7}; do
      echo "$library, $n ranks: ${infer[*]}"
      rm -f ranks.tsv ranks.json
      ranks "$n" "${infer[@]}" --categories ranks.tsv --json ranks.json >report
      cmp alone.tsv ranks.tsv
      [ "$(wc -l <ranks.json)" -eq 1 ]
      jq "$result_fields" ranks.json | diff alone.results -
      jq -e ".machine.ranks == $n" ranks.json
    done
  done
}

@test "packed networks, reduced and not" {
  make_inputs
  same_on_ranks --network n.spdnn --inputs i.spdnn --verify all
  grep -q '^verdict  *PASSED' report
  same_on_ranks --network n.spdnn --inputs i.spdnn --reduce none
}

@test "batches from a counter, and fixed shares" {
  make_inputs
  "$SPDNN" generate inputs --family digits --neurons 64 --images 2000 --out i.spdnn
  for deal in auto counter fixed; do
    same_on_ranks --network n.spdnn --inputs i.spdnn --verify 40 --trials 2 --reduce dead --deal $deal
    [ "$deal" = fixed ] && how=fixed || how=counter
    jq -e ".ranks.deal == \"$how\" and (.ranks.taken != null) == (\"$how\" == \"counter\")" ranks.json
    jq -e '[.notes[] | select(contains("shares are fixed"))] == []' ranks.json
  done
  ranks 2 infer --network n.spdnn --inputs i.spdnn --device cpu --progress never --checkpoint c --json ranks.json >report
  jq -e '.ranks.deal == "fixed" and (.notes | any(contains("shares are fixed: a checkpoint")))' ranks.json
}

@test "networks as TSV directories, and images as TSV with other values than one" {
  make_inputs
  "$SPDNN" convert n.spdnn net
  "$SPDNN" convert i.spdnn ones.tsv
  awk -v OFS='\t' '{ print $1, $2, (NR % 7 + 1) / 4 }' ones.tsv >i.tsv
  same_on_ranks --network net --bias -0.1 --inputs i.tsv --images 53
}

@test "generated networks" {
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 40 --out i.spdnn
  same_on_ranks --generate official --neurons 1024 --layers 3 --inputs i.spdnn
}

@test "stored plans" {
  make_inputs
  "$SPDNN" convert n.spdnn planned.spdnn --plan all
  same_on_ranks --network planned.spdnn --inputs i.spdnn
  jq -e '.notes | any(contains("the plan was stored"))' ranks.json
}

@test "merge, with images that are run again in the given order" {
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 4 --degree 8 --bias -0.2 --out r.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
  same_on_ranks --network r.spdnn --inputs i.spdnn --reduce twins,unused,merge,saturated,dead,identical
  jq -e '.borderline > 0 and (.passes | contains("merge"))' ranks.json
}

@test "sums that overflow, in images of the last rank" {
  mkdir huge
  printf '1\t1\t3e38\n2\t1\t3e38\n' >huge/n2-l1.tsv
  printf '1\t1\t1\n' >huge/n2-l2.tsv
  printf '1\t1\t1\n2\t1\t1\n3\t2\t1\n4\t2\t1\n5\t1\t1\n6\t2\t1\n7\t1\t1\n7\t2\t1\n' >i.tsv
  same_on_ranks --network huge --inputs i.tsv --bias=-0.25 --cap none
  jq -e '.overflow.first_ids == [7]' ranks.json
}

@test "the official network of 1024 neurons and 120 layers, with its own images" {
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  "$SPDNN" generate network --family official --neurons 1024 --layers 120 --out n.spdnn
  "$SPDNN" generate inputs --family official --neurons 1024 --mnist "$mnist" --out i.spdnn
  numbers_of_ranks='2 3' same_on_ranks --network n.spdnn --inputs i.spdnn
  grep -q '^verdict  *PASSED: 1812 categories' report
}
