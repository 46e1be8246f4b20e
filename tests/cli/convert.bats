#!/usr/bin/env bats
# spdnn convert: every form into every other, and for each kind of bad input one line and exit code 3.

setup() {
  cd "$BATS_TEST_TMPDIR" || exit 1
  repository=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

# A network of 4 neurons and 2 layers, and 3 images of 4 neurons.
make_files() {
  mkdir net
  printf '1\t1\t6.250000e-02\n3\t1\t6.250000e-02\n4\t4\t6.250000e-02\n' > net/n4-l1.tsv
  printf '2\t2\t5.000000e-01\n1\t3\t-1.000000e-01\n' > net/n4-l2.tsv
  printf '1\t1\t1\n3\t1\t1\n2\t4\t1\n' > sparse-images-4.tsv
}

# bad NAME TEXT MESSAGE: converting a file NAME with that text must fail with exactly that line and write nothing.
bad() {
  rm -rf bad out.spdnn
  mkdir bad
  printf "$2" > "bad/$1"
  run "$SPDNN" convert "bad/$1" out.spdnn
  [ "$status" -eq 3 ] || { echo "status $status: $output"; return 1; }
  [ "$output" = "spdnn: $3" ] || { echo "said: $output"; return 1; }
  [ ! -e out.spdnn ]
}

@test "convert: a network through every form is the same network" {
  make_files
  "$SPDNN" convert net packed.spdnn --bias -0.3
  "$SPDNN" convert packed.spdnn gz --form tsv.gz
  [ -f gz/n4-l2.tsv.gz ]
  "$SPDNN" convert gz mtx --form mtx
  [ "$(head -2 mtx/n4-l2.mtx | tail -1)" = "4 4 2" ]
  "$SPDNN" convert mtx again.spdnn --bias -0.3
  cmp packed.spdnn again.spdnn
  "$SPDNN" convert again.spdnn tsv
  diff -r -x spdnn-network.txt net tsv
}

@test "convert: text layers hold no parameters, and it says which are left out" {
  make_files
  "$SPDNN" convert net packed.spdnn --bias -0.3 --cap none --bias-rule everywhere
  run "$SPDNN" convert packed.spdnn tsv
  [ "$status" -eq 0 ]
  [ "$output" = "spdnn: note: tsv does not contain all parameters; use infer with --bias -0.3 --bias-rule everywhere --cap none" ]
}

@test "convert: images through every form are the same images" {
  make_files
  "$SPDNN" convert sparse-images-4.tsv i.spdnn
  "$SPDNN" convert i.spdnn i.mtx --kind images
  "$SPDNN" convert i.mtx sparse-images-4.tsv.gz --kind images
  gzip -dc sparse-images-4.tsv.gz | cmp - sparse-images-4.tsv
}

@test "convert: shuffled lines, CRLF, spaces and, where that is allowed, a missing last newline give the same network" {
  make_files
  mkdir other
  tac net/n4-l1.tsv | tr '\t' ' ' | sed 's/$/\r/' > other/n4-l1.tsv
  printf '\n%s' "$(cat net/n4-l2.tsv)" > other/n4-l2.tsv
  "$SPDNN" convert net a.spdnn --bias 0
  "$SPDNN" convert other b.spdnn --bias 0 --allow-missing-newline
  cmp a.spdnn b.spdnn
}

@test "convert: --layers and --neurons choose" {
  make_files
  "$SPDNN" convert net one --layers 1
  [ "$(echo one/n*)" = one/n4-l1.tsv ]
  printf '4\t2\t1\n' > net/n4-l2.tsv
  printf '1\t4\t1\n' > net/n4-l1.tsv
  "$SPDNN" convert net mtx --form mtx --neurons 1,4,2
  [ "$(sed -n 2p mtx/n1-l1.mtx)" = "1 4 1" ]
  run "$SPDNN" convert net x --neurons 8
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: net: the layers are for 4 neurons, expected 8" ]
}

@test "convert: bad lines of a layer" {
  bad n4-l1.tsv '1\t1\t1\n5\t1\t1\n' 'bad/n4-l1.tsv:2:1: input 5 is outside 1..4'
  bad n4-l1.tsv '1\t5\t1\n' 'bad/n4-l1.tsv:1:3: output 5 is outside 1..4'
  bad n4-l1.tsv '0\t1\t1\n' 'bad/n4-l1.tsv:1:1: input 0 is outside 1..4'
  bad n4-l1.tsv '1\t-1\t1\n' 'bad/n4-l1.tsv:1:3: output -1 is outside 1..4'
  bad n4-l1.tsv '1\t99999999999\t1\n' 'bad/n4-l1.tsv:1:3: output 99999999999 is outside 1..4'
  bad n4-l1.tsv '1\t1\tnan\n' "bad/n4-l1.tsv:1:5: weight 'nan' is not finite, expected a number"
  bad n4-l1.tsv '1\t1\tinf\n' "bad/n4-l1.tsv:1:5: weight 'inf' is not finite, expected a number"
  bad n4-l1.tsv '1\t1\tx\n' "bad/n4-l1.tsv:1:5: weight 'x' is not a number, expected a finite one"
  bad n4-l1.tsv '1\t1\t1e39\n' "bad/n4-l1.tsv:1:5: weight '1e39' is too large, expected at most 3.402823e+38"
  bad n4-l1.tsv 'a\t1\t1\n' "bad/n4-l1.tsv:1:1: input 'a' is not a whole number, expected one in 1..4"
  bad n4-l1.tsv '1\t1\t1\n2\t1\n' 'bad/n4-l1.tsv:2:4: the line ends after 2 columns, expected input, output, weight'
  bad n4-l1.tsv '1\t1\t1\t9\n' "bad/n4-l1.tsv:1:7: extra column '9', expected input, output, weight"
  bad n4-l1.tsv '1\t1\t1\n2\t1\t1\n1\t1\t2\n' 'bad/n4-l1.tsv:3:1: input 1 and output 1 are given twice, expected once'
}

@test "convert: bad lines of images" {
  bad sparse-images-4.tsv '1\t5\t1\n' 'bad/sparse-images-4.tsv:1:3: neuron 5 is outside 1..4'
  bad sparse-images-4.tsv '0\t1\t1\n' 'bad/sparse-images-4.tsv:1:1: image 0 is outside 1..1048576 in 6 bytes, or an explicit number'
  bad sparse-images-4.tsv '1\t1\t1\n1\t1\t1\n' 'bad/sparse-images-4.tsv:2:1: image 1 and neuron 1 are given twice, expected once'
  bad sparse-images-4.tsv '1\t1\n' 'bad/sparse-images-4.tsv:1:4: the line ends after 2 columns, expected image, neuron, value'
  bad sparse-images-4.tsv '1\t1\tnan\n' "bad/sparse-images-4.tsv:1:5: value 'nan' is not finite, expected a number"
  bad sparse-images-4.tsv '' 'bad/sparse-images-4.tsv: the file is empty, expected lines of text, or an explicit number of images'
}

@test "convert: bad Matrix Market files" {
  bad n4-l1.mtx '%%%%MatrixMarket matrix coordinate real hermitian\n4 4 0\n' \
    "bad/n4-l1.mtx:1:39: 'hermitian' is not supported, expected %%MatrixMarket matrix coordinate real|integer|pattern general|symmetric"
  bad n4-l1.mtx '%%%%MatrixMarket matrix coordinate real general\n4 4 2\n1 1 1\n' \
    'bad/n4-l1.mtx:2:1: the header states 2 entries, but the file has 1'
}

@test "convert: bad .gz files" {
  make_files
  gzip net/*.tsv
  head -c 30 net/n4-l2.tsv.gz > cut && mv cut net/n4-l2.tsv.gz
  run "$SPDNN" convert net out.spdnn --bias 0
  [ "$status" -eq 3 ]
  [[ "$output" =~ ^"spdnn: net/n4-l2.tsv.gz:"[12]:[0-9]+": the gzip data is cut off, expected its end"$ ]]
  [ ! -e out.spdnn ]
  printf '1\t1\t1\n' > net/n4-l2.tsv.gz
  run "$SPDNN" convert net out.spdnn --bias 0
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: net/n4-l2.tsv.gz:1:1: damaged or no gzip data (zlib: incorrect header check)" ]
}

@test "convert: layers that are missing, and files that are no files" {
  make_files
  mv net/n4-l2.tsv net/n4-l3.tsv
  run "$SPDNN" convert net out.spdnn --bias 0
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: net/n4-l2.tsv: no such file, expected layers 1..3" ]
  rm net/n4-l3.tsv
  mkdir net/n4-l2.tsv
  run "$SPDNN" convert net out.spdnn --bias 0
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: net/n4-l2.tsv: cannot read: it is a directory, expected a file" ]
  run "$SPDNN" convert no-such-file out.spdnn
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: no-such-file: cannot read: No such file or directory" ]
  mkdir empty
  run "$SPDNN" convert empty out.spdnn
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: empty: no layers, expected files n<neurons>-l<layer>.tsv, .tsv.gz or .mtx" ]
  [ ! -e out.spdnn ]
}

@test "convert: an unreadable file" {
  [ "$(id -u)" -ne 0 ] || skip "root may read everything"
  make_files
  chmod 000 net/n4-l2.tsv
  run "$SPDNN" convert net out.spdnn --bias 0
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: net/n4-l2.tsv: cannot read: Permission denied" ]
}

@test "convert: a failing writer leaves nothing, and says what it was that failed" {
  make_files
  "$SPDNN" convert net big.spdnn --bias 0
  seq -f '%.0f	1	1' 3000 >sparse-images-4.tsv
  mkdir wide
  cp sparse-images-4.tsv wide/n4000-l1.tsv
  before=$(ls -A)
  # Whether or not the shell ignores the signal of too large a file: it is an error like a full disk.
  for trap in "trap '' XFSZ;" ""; do
    run bash -c "$trap ulimit -f 1; '$SPDNN' convert sparse-images-4.tsv i.mtx"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: i.mtx: cannot write: File too large" ]
    run bash -c "$trap ulimit -f 1; '$SPDNN' convert wide failed"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: "*"/failed/n4000-l1.tsv: cannot write: File too large" ]]
    [ "$(ls -A)" = "$before" ]
  done
}

@test "convert: options that do not go together are a usage error" {
  make_files
  for arguments in "net" "net out.tsv" "net out.spdnn" "net out --bias 1" "net out --form csv" "net out --images 3" \
    "sparse-images-4.tsv out.mtx --layers 2" "net out.spdnn --form tsv" "net out.spdnn --bias x" \
    "net out.spdnn --bias 0 --cap 0" "net out --neurons 4,0" "net out --kind plan"; do
    # shellcheck disable=SC2086  # words are meant
    run "$SPDNN" convert $arguments
    [ "$status" -eq 2 ] || { echo "$arguments: $status $output"; return 1; }
    [ "${#lines[@]}" -eq 1 ]
  done
  cp sparse-images-4.tsv images.tsv
  run "$SPDNN" convert images.tsv out.spdnn
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: images.tsv: the name does not show whether it is a network or images; give --kind" ]
}

@test "convert: the official 1024 x 120 network comes back byte for byte" {
  archive=$repository/../shared/data/official/official-1024-l120.tar.xz
  [ -f "$archive" ] || skip "needs ../shared/data/official"
  tar xJf "$archive"
  layers=$(dirname "$(find . -name n1024-l1.tsv)")
  "$SPDNN" convert "$layers" net.spdnn  # knows the official bias
  "$SPDNN" convert "$layers" same.spdnn --bias -0.3
  cmp net.spdnn same.spdnn
  "$SPDNN" convert net.spdnn tsv
  [ "$(ls tsv/n* | wc -l)" -eq 120 ]
  for file in tsv/n*; do cmp "$file" "$layers/$(basename "$file")"; done
}
