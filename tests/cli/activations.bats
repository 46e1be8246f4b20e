#!/usr/bin/env bats
# spdnn infer --activations: the forms agree, passes and ranks change no bit, and outputs that cannot be written are refused
# before any work.

load ../support/ranks

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  "$SPDNN" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn >made
  "$SPDNN" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn >made
  infer=(infer --network n.spdnn --inputs i.spdnn --device cpu --progress never)
}

@test "activations are the same bits with and without reduction, in batches, streamed and in trials" {
  "$SPDNN" "${infer[@]}" --reduce none --activations none.npy
  [ "$(stat -c %s none.npy)" -eq $((128 + 50 * 64 * 4)) ]
  for options in "--reduce all" "--reduce dead" "--batch 7" "--trials 3" "--verify all --compare"; do
    # shellcheck disable=SC2086  # words are meant
    "$SPDNN" "${infer[@]}" $options --activations found.npy
    cmp none.npy found.npy
    rm found.npy
  done
}

@test "the three forms hold the same numbers" {
  "$SPDNN" "${infer[@]}" --activations a.npy --categories c.tsv --json run.json
  "$SPDNN" "${infer[@]}" --activations a.npz
  "$SPDNN" "${infer[@]}" --activations a.tsv
  "$SPDNN" "${infer[@]}" --activations a.tsv.gz
  gzip -dc a.tsv.gz | cmp - a.tsv
  [ -s run.json ]
  /usr/bin/python3 - <<'PY'
import numpy
dense = numpy.load("a.npy")
assert dense.dtype == "float32" and dense.shape == (50, 64), dense.dtype
stored = numpy.load("a.npz")
assert stored["format"].item() == b"csr" and list(stored["shape"]) == [50, 64]
again = numpy.zeros((50, 64), "float32")
for row in range(50):
    begin, end = stored["indptr"][row:row + 2]
    again[row, stored["indices"][begin:end]] = stored["data"][begin:end]
assert (again == dense).all()
lines = numpy.loadtxt("a.tsv", ndmin=2)
assert len(lines) == numpy.count_nonzero(dense)
assert all(dense[int(i) - 1, int(n) - 1] == numpy.float32(v) for i, n, v in lines)
categories = numpy.loadtxt("c.tsv", dtype=int)
assert (numpy.flatnonzero(dense.any(axis=1)) + 1 == categories).all()
PY
}

@test "SciPy reads the sparse activations" {
  /usr/bin/python3 -c 'import scipy.sparse' || skip "needs SciPy"
  "$SPDNN" "${infer[@]}" --activations a.npz
  "$SPDNN" "${infer[@]}" --activations a.npy
  /usr/bin/python3 -W error -c "
import numpy, scipy.sparse
assert (scipy.sparse.load_npz('a.npz').toarray() == numpy.load('a.npy')).all()"
}

@test "the activations of the first layers are the inputs of the others" {
  "$SPDNN" convert n.spdnn net
  mkdir first last
  for k in 1 2 3; do cp net/n64-l$k.tsv first/; cp net/n64-l$((k + 3)).tsv last/n64-l$k.tsv; done
  "$SPDNN" "${infer[@]}" --activations all.npy
  "$SPDNN" infer --network first --bias -0.1 --inputs i.spdnn --device cpu --activations middle.tsv
  "$SPDNN" infer --network last --bias -0.1 --inputs middle.tsv --images 50 --device cpu --activations found.npy
  cmp all.npy found.npy
}

@test "activations are those of all ranks, in the order of the images" {
  use_mpi || skip "needs MPI: mpirun, and the plug-in for its library beside the program"
  "$SPDNN" "${infer[@]}" --activations alone.npz
  for n in 2 3; do
    ends 0 ranks $n "${infer[@]}" --activations ranks.npz
    cmp alone.npz ranks.npz
    rm ranks.npz
  done
  # Neurons that are twins are computed once.
  "$SPDNN" convert n.spdnn net
  awk -F'\t' '$2 == 5 { print; print $1 "\t" 60 "\t" $3 } $2 != 5 && $2 != 60' net/n64-l6.tsv | sort -n -k2,2 -k1,1 >twins
  rm net/spdnn-network.txt
  mv twins net/n64-l6.tsv
  infer=(infer --network net --bias -0.1 --inputs i.spdnn --device cpu --progress never)
  "$SPDNN" "${infer[@]}" --reduce none --activations alone.npy
  ends 0 ranks 2 "${infer[@]}" --activations ranks.npy
  cmp alone.npy ranks.npy
}

@test "another ending is refused before anything is read, and nothing is left behind" {
  for name in a.bin a.txt a.csv a .npyx; do
    run "$SPDNN" infer --network none --inputs none --activations "$name"
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: --activations $name: expected a name that ends in .npy, .npz, .tsv, or - for stdout" ]
    [ ! -e "$name" ]
  done
  run "$SPDNN" "${infer[@]}" --checkpoint c --activations a.npy
  [ "$status" -eq 2 ]
  [[ "$output" == *"a run that may be stopped does not keep them"* ]]
  run "$SPDNN" "${infer[@]}" --reduce merge --activations a.npy
  [ "$status" -eq 2 ]
  [[ "$output" == *"the pass merge changes their rounding"* ]]
  run "$SPDNN" "${infer[@]}" --categories - --activations -
  [ "$status" -eq 2 ]
  [ ! -e a.npy ]
}

@test "activations and the other results appear together or not at all" {
  mkdir there
  run "$SPDNN" "${infer[@]}" --activations a.npy --categories c.tsv --json /dev/full
  [ "$status" -eq 3 ]
  [ ! -e a.npy ]
  [ ! -e c.tsv ]
  [ -z "$(find . -name '.spdnn-*')" ]
  "$SPDNN" "${infer[@]}" --activations - >a.npy 2>report
  grep -q '^verdict' report
  "$SPDNN" "${infer[@]}" --activations b.npy
  cmp a.npy b.npy
}
