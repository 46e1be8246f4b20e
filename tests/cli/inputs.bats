#!/usr/bin/env bats
# What is read: files that change under a run, damaged gzip, files without a byte, sizes that files claim.

setup() {
  cd "$BATS_TEST_TMPDIR" || exit 1
}

# fails CODE MESSAGE COMMAND...: ends with that code and exactly that line.
fails() {
  local code=$1 message=$2
  shift 2
  run "$@"
  [ "$status" -eq "$code" ] || { echo "status $status, expected $code: $output"; return 1; }
  [ "$output" = "spdnn: $message" ] || { echo "said: $output"; return 1; }
}

# A network of 64 neurons and 2 layers in which all images stay, 2000 images.
make_problem() {
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 2 --degree 8 --out net.spdnn > /dev/null
  "$SPDNN" generate inputs --family digits --neurons 64 --images 2000 --out images.spdnn > /dev/null
  "$SPDNN" convert images.spdnn sparse-images-64.tsv
}

# changing FILE CHANGE [any]: runs beside a loop that changes FILE and puts it back must end well with the right list, or
# with exit 3 and one line that names the file. any: what FILE is for a while is a list of its own.
changing() {
  local file=$1 change=$2 list=${3:-right} status
  cp "$file" copy
  "$SPDNN" infer --network net.spdnn --inputs "$file" --categories right.tsv > /dev/null
  ( while :; do eval "$change"; dd if=copy of="$file" bs=10M conv=notrunc status=none; done ) 3>&- &
  local loop=$!
  for _ in $(seq 30); do
    status=0
    "$SPDNN" infer --network net.spdnn --inputs "$file" --categories got.tsv > out 2> err || status=$?
    if [ "$status" -eq 0 ]; then
      [ "$list" = any ] || cmp right.tsv got.tsv || break
    else
      [ "$status" -eq 3 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "^spdnn: $file" err || break
    fi
    status=ended
  done
  kill "$loop"
  wait "$loop" || true
  cat copy > "$file"
  [ "$status" = ended ] || { echo "status $status"; cat err; return 1; }
}

@test "inputs: a packed file that is shortened or overwritten beside a run ends in exit 3 or changes nothing" {
  make_problem
  changing images.spdnn 'truncate -s 1000 images.spdnn'
  changing images.spdnn 'dd if=/dev/zero of=images.spdnn bs=1000 seek=2 count=5 conv=notrunc status=none'
}

@test "inputs: a text file that is shortened or overwritten beside a run ends in exit 3 or changes nothing" {
  make_problem
  changing sparse-images-64.tsv 'truncate -s 1000 sparse-images-64.tsv' any
  tac sparse-images-64.tsv > other
  changing sparse-images-64.tsv 'dd if=other of=sparse-images-64.tsv bs=10M conv=notrunc status=none'
}

@test "inputs: MNIST's gzip is read to its end" {
  { printf '\0\0\010\003\0\0\0\002\0\0\0\034\0\0\0\034'; head -c 1568 /dev/zero; } > idx
  gzip -c idx > idx.gz
  local size
  size=$(stat -c %s idx.gz)
  for lost in 1 4 8; do
    head -c $((size - lost)) idx.gz > cut.gz
    fails 3 'cut.gz: the gzip data is cut off, expected its end' \
      "$SPDNN" generate inputs --family official --neurons 1024 --mnist cut.gz --out i.spdnn
  done
  { head -c $((size - 8)) idx.gz; printf 'abcd'; tail -c 4 idx.gz; } > bad.gz
  fails 3 'bad.gz: damaged or no gzip data (zlib: incorrect data check)' \
    "$SPDNN" generate inputs --family official --neurons 1024 --mnist bad.gz --out i.spdnn
  { cat idx.gz; echo more; } > long.gz
  fails 3 'long.gz: damaged or no gzip data (zlib: incorrect header check)' \
    "$SPDNN" generate inputs --family official --neurons 1024 --mnist long.gz --out i.spdnn
  [ ! -e i.spdnn ]
}

@test "inputs: damaged gzip has a line" {
  mkdir net
  printf '1\t1\t1\n2\t1\t1\n' | gzip > net/n2-l1.tsv.gz
  truncate -s -3 net/n2-l1.tsv.gz
  fails 3 'net/n2-l1.tsv.gz:3:1: the gzip data is cut off, expected its end' "$SPDNN" inspect net --bias 0
}

@test "inputs: a file without a byte is a list without lines, and the report says so" {
  mkdir net
  printf '1\t1\t1\n' > net/n2-l1.tsv
  : > net/n2-l2.tsv
  : > truth.tsv
  : > sparse-images-2.tsv
  "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv --images 3 --truth truth.tsv > out
  grep -q 'net/n2-l2.tsv: the file is empty: a layer without edges' out
  grep -q 'truth.tsv: the file is empty: no image is a category' out
  grep -q 'sparse-images-2.tsv: the file is empty: images of zeros' out
  fails 3 'sparse-images-2.tsv: the file is empty, expected lines of text, or the number of images given' \
    "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv
  "$SPDNN" convert net out.spdnn --bias 0 2> err
  grep -q '^spdnn: note: net/n2-l2.tsv: the file is empty' err
  printf '1\t0\n2\t0\n' > net/n2-l1-bias.tsv
  : > net/n2-l2-bias.tsv
  fails 3 'net/n2-l2-bias.tsv: neuron 1 is missing, expected a line for each of 1..2' "$SPDNN" inspect net
}
