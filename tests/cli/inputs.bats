#!/usr/bin/env bats
# Inputs: files that change during a run, damaged gzip, empty files, sizes that files claim.

load ../support/sampled

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

# changing FILE CHANGE [any]: while a loop changes FILE and restores it, runs must end with 0 and the right list, or with 3
# and one line that names the file. With `any`, the changed FILE gives another list, which is accepted.
changing() {
  local file=$1 change=$2 list=${3:-right} status
  cp "$file" copy
  "$SPDNN" infer --network net.spdnn --inputs "$file" --categories right.tsv > /dev/null
  rm -f stop
  ( until [ -e stop ]; do eval "$change"; dd if=copy of="$file" bs=10M conv=notrunc status=none; done ) 3>&- &
  local loop=$!
  for _ in $(seq "$(sampled 8 30)"); do
    status=0
    "$SPDNN" infer --network net.spdnn --inputs "$file" --categories got.tsv > out 2> err || status=$?
    if [ "$status" -eq 0 ]; then
      [ "$list" = any ] || cmp right.tsv got.tsv || break
    else
      [ "$status" -eq 3 ] && [ "$(wc -l < err)" -eq 1 ] && grep -q "^spdnn: $file" err || break
    fi
    status=ended
  done
  touch stop
  wait "$loop"
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
  rm net/n2-l2.tsv
  gzip </dev/null >net/n2-l2.tsv.gz
  "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv --images 3 | grep -q 'n2-l2.tsv.gz: the file is empty'
  rm net/n2-l2.tsv.gz && : > net/n2-l2.tsv
  grep -q 'truth.tsv: the file is empty: no image is a category' out
  grep -q 'sparse-images-2.tsv: the file is empty: images of zeros' out
  fails 3 'sparse-images-2.tsv: the file is empty, expected lines of text, or an explicit number of images' \
    "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv
  "$SPDNN" convert net out.spdnn --bias 0 2> err
  grep -q '^spdnn: note: net/n2-l2.tsv: the file is empty' err
  printf '1\t0\n2\t0\n' > net/n2-l1-bias.tsv
  : > net/n2-l2-bias.tsv
  fails 3 'net/n2-l2-bias.tsv: neuron 1 is missing, expected a line for each of 1..2' "$SPDNN" inspect net
}

@test "inputs: a layer or bias that ends without a newline is refused unless allowed, other texts are noted" {
  mkdir net
  printf '1\t1\t1\n2\t2\t2.500000' > net/n2-l1.tsv  # cut from 2.500000e-01
  printf '1\t1\t1\n2\t2\t1' > sparse-images-2.tsv
  printf '1\n2' > truth.tsv
  refused='expected a newline at its end (--allow-missing-newline accepts the line)'
  fails 3 "net/n2-l1.tsv:2:13: the file ends within a line and may be truncated, $refused" \
    "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv --verify all
  fails 3 "net/n2-l1.tsv:2:13: the file ends within a line and may be truncated, $refused" \
    "$SPDNN" convert net out.spdnn --bias 0
  [ ! -e out.spdnn ]
  "$SPDNN" infer --network net --bias 0 --inputs sparse-images-2.tsv --truth truth.tsv --allow-missing-newline > out
  for file in net/n2-l1.tsv sparse-images-2.tsv truth.tsv; do
    grep -q "^ *$file: the last line has no newline: the file may be cut off" out || { cat out; return 1; }
  done
  "$SPDNN" inspect net --bias 0 --allow-missing-newline | grep -q 'net/n2-l1.tsv: the last line has no newline'
  "$SPDNN" convert net out.spdnn --bias 0 --allow-missing-newline 2> err
  [ "$(cat err)" = 'spdnn: note: net/n2-l1.tsv: the last line has no newline: the file may be cut off' ]
  "$SPDNN" convert sparse-images-2.tsv images.spdnn 2> err
  [ "$(cat err)" = 'spdnn: note: sparse-images-2.tsv: the last line has no newline: the file may be cut off' ]
  printf '1\t0\n2\t-0.' > net/n2-l1-bias.tsv
  printf '1\t1\t1\n' > net/n2-l1.tsv
  fails 3 "net/n2-l1-bias.tsv:2:6: the file ends within a line and may be truncated, $refused" \
    "$SPDNN" infer --network net --inputs sparse-images-2.tsv
}

@test "inputs: a file of /proc, which states no bytes and holds some, is no empty list" {
  printf '1\t1\t-1\n' > n1-l1.tsv
  printf '1\t1\t1\n' > sparse-images-1.tsv
  [ "$(stat -c %s /proc/version)" -eq 0 ] || skip "needs /proc/version to state 0 bytes"
  refused='/proc/version: holds more than the 0 bytes that the system reports, expected a regular file'
  fails 3 "$refused" "$SPDNN" infer --network n1-l1.tsv --bias 0 --inputs sparse-images-1.tsv --truth /proc/version
  ln -s /proc/version sparse-images-4.tsv
  fails 3 "sparse-images-4.tsv${refused#/proc/version}" "$SPDNN" convert sparse-images-4.tsv out.tsv --images 3
}

# peak COMMAND...: prints the most memory that it took, in MB; it must end without a signal, with exit code 0 or 3.
peak() {
  /usr/bin/env python3 - "$@" << 'PY'
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
if os.waitstatus_to_exitcode(status) not in (0, 3):
    sys.exit(f"{sys.argv[1:]}: status {status}")
print(usage.ru_maxrss // 1024)
PY
}

@test "inputs: what tiny files claim takes no memory" {
  mkdir named mtx wide
  printf '1\t1\t1\n' > named/n100000000-l1.tsv
  printf '%%%%MatrixMarket matrix coordinate real general\n64 100000000 1\n1 1 1\n' > mtx/n64-l1.mtx
  for layer in $(seq 40); do printf '1\t1\t1\n' > "wide/n1000000-l$layer.tsv"; done
  printf '100000000\t1\t1\n' > sparse-images-64.tsv
  printf '1\t100000000\t1\n' > sparse-images-100000000.tsv
  printf '%%%%MatrixMarket matrix coordinate real general\n268435456 64 1\n268435456 1 0.5\n' > sparse-images-64.mtx
  fails 3 'named/n100000000-l1.tsv: 100000000 neurons, expected at most 1048576 in 6 bytes, or an explicit number' \
    "$SPDNN" inspect named --bias 0
  fails 3 'sparse-images-64.tsv:1:1: image 100000000 is outside 1..1048577 in 14 bytes, or an explicit number' \
    "$SPDNN" convert sparse-images-64.tsv out.spdnn
  local megabytes command
  for command in "inspect named --bias 0" "inspect mtx --bias 0" "inspect wide --bias 0" "convert wide out.spdnn --bias 0" \
    "convert sparse-images-64.tsv out.spdnn" "convert sparse-images-100000000.tsv out.spdnn" \
    "convert sparse-images-64.mtx out.spdnn" "convert sparse-images-64.mtx out.tsv"; do
    # shellcheck disable=SC2086
    megabytes=$(peak "$SPDNN" $command)
    [ "$megabytes" -le 200 ] || { echo "$command took $megabytes MB"; return 1; }
  done
}

@test "inputs: sizes given by the caller are accepted" {
  mkdir net
  printf '1\t1\t1\n' > net/n2000000-l1.tsv
  printf '2000000\t1\t1\n' > sparse-images-2000000.tsv
  "$SPDNN" convert net net.spdnn --bias 0 --neurons 2000000
  "$SPDNN" convert sparse-images-2000000.tsv images.spdnn --neurons 2000000 --images 2000000
  "$SPDNN" convert images.spdnn back.tsv --neurons 2000000
  cmp back.tsv sparse-images-2000000.tsv
}

@test "inputs: more images than memory takes are refused at once, with exit code 4" {
  [ "$(awk '/MemAvailable/ { print $2 }' /proc/meminfo)" -lt 17000000 ] || ulimit -v 8000000
  printf '1\t1\t1\n' > sparse-images-64.tsv
  run "$SPDNN" convert sparse-images-64.tsv out.spdnn --images 2147483647
  [ "$status" -eq 4 ]
  [[ "$output" = "spdnn: "*"images"* ]]
  [ "${#lines[@]}" -eq 1 ]
}

@test "inputs: a symmetric Matrix Market layer has both halves, and its size is the one of its name" {
  mkdir half both
  printf '%%%%MatrixMarket matrix coordinate pattern symmetric\n3 3 2\n2 1\n3 3\n' > half/n3-l1.mtx
  printf '1\t2\t1\n2\t1\t1\n3\t3\t1\n' > both/n3-l1.tsv
  "$SPDNN" convert half half.spdnn --bias 0
  "$SPDNN" convert both both.spdnn --bias 0
  cmp half.spdnn both.spdnn
  mv half/n3-l1.mtx half/n1024-l1.mtx
  fails 3 'half/n1024-l1.mtx: the matrix is 3 x 3, expected 1024 rows as the name says, or the numbers given' \
    "$SPDNN" inspect half --bias 0
}

@test "inputs: weights that readers refuse are not written, in any form" {
  for form in tsv tsv.gz mtx; do
    run "$SPDNN" generate network --family random --neurons 64 --layers 2 --weights normal:1:3e38 --form "$form" --out out
    [ "$status" -eq 3 ]
    [[ "$output" = "spdnn: out: cannot write: layer "*finite* ]]
    [ ! -e out ]
  done
}
