#!/usr/bin/env bats
# The fetch scripts, with a server of the tests on 127.0.0.1: no test leaves this machine.

load ../support/within
load ../support/sampled

setup() {
  root=$BATS_TEST_DIRNAME/../..
  served=$BATS_TEST_TMPDIR/served
  out=$BATS_TEST_TMPDIR/out
  log=$BATS_TEST_TMPDIR/requests
  mkdir -p "$served" "$out"
  : >"$log"
  server=
}

teardown() {
  if [ -n "$server" ]; then kill "$server"; fi
}

# Starts the server with the given options and sets `url`. Its output goes to a file, because bats waits for open pipes.
serve() {
  rm -f "$BATS_TEST_TMPDIR/port"
  python3 "$root/tests/tools/range_server.py" "$served" "$log" "$@" >"$BATS_TEST_TMPDIR/port" 2>&1 3>&- &
  server=$!
  within 600 test -s "$BATS_TEST_TMPDIR/port"
  url=http://127.0.0.1:$(cat "$BATS_TEST_TMPDIR/port")
}

# Makes a file that stands for MNIST's, and the checksum of its contents.
make_images() {
  head -c 100000 /dev/urandom >"$BATS_TEST_TMPDIR/images"
  gzip -c "$BATS_TEST_TMPDIR/images" >"$served/images.gz"
  sum=$(sha256sum <"$BATS_TEST_TMPDIR/images" | cut -d' ' -f1)
}

mnist() {
  run "$root/data_scripts/fetch_mnist.sh" --out "$out/images.gz" --sha256 "$sum" "$@"
}

@test "fetch_mnist fetches, and knows a file that is there" {
  make_images
  serve
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  cmp "$served/images.gz" "$out/images.gz"
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$log")" -eq 1 ]
  [ "$(ls "$out")" = images.gz ]
}

@test "fetch_mnist goes on where the connection broke" {
  make_images
  serve --cut 30000
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  cmp "$served/images.gz" "$out/images.gz"
  [ "$(cat "$log")" = "/images.gz None"$'\n'"/images.gz bytes=30000-" ]
}

@test "fetch_mnist resumes what a killed run left, and starts over where a server cannot" {
  make_images
  serve --cut 30000
  key=$(printf '%s' "$url/images.gz" | cksum | cut -d' ' -f1)
  head -c 40000 "$served/images.gz" >"$out/images.gz.$key.part"
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  [ "$(cat "$log")" = "/images.gz bytes=40000-" ]
  cmp "$served/images.gz" "$out/images.gz"

  kill "$server"
  serve --no-ranges
  key=$(printf '%s' "$url/images.gz" | cksum | cut -d' ' -f1)
  rm "$out/images.gz"
  head -c 40000 "$served/images.gz" >"$out/images.gz.$key.part"
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  cmp "$served/images.gz" "$out/images.gz"
}

@test "fetch_mnist refuses a wrong checksum and leaves nothing" {
  make_images
  serve
  sum=$(printf 0%.0s {1..64})
  mnist --mirror "$url/images.gz"
  [ "$status" -eq 3 ]
  [[ "$output" == *"wrong checksum"* ]]
  [ -z "$(ls "$out")" ]
}

@test "fetch_mnist takes the next mirror when the first is down or has something else" {
  make_images
  echo other | gzip >"$served/other.gz"
  serve
  mnist --mirror http://127.0.0.1:1/images.gz --mirror "$url/absent.gz" --mirror "$url/other.gz" --mirror "$url/images.gz"
  [ "$status" -eq 0 ]
  cmp "$served/images.gz" "$out/images.gz"
  [ "$(ls "$out")" = images.gz ]
}

@test "fetch_mnist says so when no mirror works" {
  sum=0
  mnist --mirror http://127.0.0.1:1/images.gz
  [ "$status" -eq 3 ]
  [[ "$output" == *"no mirror had the file"* ]]
  [ -z "$(ls "$out")" ]
}

# Sets `layers` and `nonzeros` of the official problem, and `script`. A sample takes a copy of the script, to which a problem
# with a tenth of the layers and a hundredth of the non-zeros is the official one.
choose_problem() {
  layers=120 nonzeros=6374505 script=$root/data_scripts/fetch_official.sh
  if in_full; then return 0; fi
  layers=12 nonzeros=63745 script=$BATS_TEST_TMPDIR/fetch_official.sh
  cp "$root/data_scripts/download.sh" "$BATS_TEST_TMPDIR"
  sed "s/\[1024\]=6374505/[1024]=$nonzeros/; s/\^(120|/^(12|/" "$root/data_scripts/fetch_official.sh" >"$script"
  chmod +x "$script"
  [ "$(diff "$root/data_scripts/fetch_official.sh" "$script" | grep -c '^>')" -eq 2 ]
}

official() { run "$script" --base "$url" --out "$out" --neurons 1024 --layers "$layers" "$@"; }

# Makes files with the official form and counts, though not the official contents. All layers are alike.
make_categories() {
  mkdir -p "$served/dnn"
  seq 3 3 5436 >"$served/dnn/neuron1024-l$layers-categories.tsv"
}
make_network() {
  local folder=$BATS_TEST_TMPDIR/archive/neuron1024 layer
  mkdir -p "$folder" "$served/dnn"
  awk 'BEGIN { for (o = 1; o <= 1024; ++o) for (i = 1; i <= 32; ++i) printf "%d\t%d\t6.250000e-02\n", 32 * i, o }' \
    >"$folder/n1024-l1.tsv"
  for ((layer = 2; layer <= layers + 1; ++layer)); do ln -s n1024-l1.tsv "$folder/n1024-l$layer.tsv"; done
  if [ -n "${1:-}" ]; then rm "$folder/n1024-l$1.tsv" && sed "$2" "$folder/n1024-l1.tsv" >"$folder/n1024-l$1.tsv"; fi
  tar -C "$BATS_TEST_TMPDIR/archive" -chf - neuron1024 | gzip -1 >"$served/dnn/neuron1024.tar.gz"
}

@test "fetch_official fetches the layers asked for, resuming" {
  choose_problem
  make_network
  serve --cut 50000
  official --only network
  [ "$status" -eq 0 ]
  [ "$(ls "$out")" = neuron1024 ]
  [ "$(ls "$out/neuron1024" | wc -l)" -eq "$layers" ]
  cmp "$BATS_TEST_TMPDIR/archive/neuron1024/n1024-l1.tsv" "$out/neuron1024/n1024-l$((layers - 3)).tsv"
  grep -qx '/dnn/neuron1024.tar.gz bytes=50000-' "$log"
  official --only network
  [ "$status" -eq 0 ]
  [ "$(wc -l <"$log")" -eq 2 ]
}

@test "fetch_official refuses layers with a missing edge or another weight, and leaves nothing" {
  choose_problem
  make_network 3 '5000d'
  serve
  official --only network
  [ "$status" -eq 3 ]
  [[ "$output" == *"n1024-l3.tsv: 32767 edges, expected 32768"* ]]
  [ -z "$(ls "$out")" ]
  rm -r "$BATS_TEST_TMPDIR/archive"
  make_network 5 '9s/6.25/6.26/'
  official --only network
  [ "$status" -eq 3 ]
  [[ "$output" == *"n1024-l5.tsv:9: "* ]]
  [ -z "$(ls "$out")" ]
}

@test "fetch_official refuses an archive without all layers" {
  choose_problem
  make_network
  tar -C "$BATS_TEST_TMPDIR/archive" --exclude=n1024-l9.tsv -chzf "$served/dnn/neuron1024.tar.gz" neuron1024
  serve
  official --only network
  [ "$status" -eq 3 ]
  [ -z "$(ls "$out")" ]
}

@test "fetch_official checks categories" {
  choose_problem
  make_categories
  serve
  official --only categories
  [ "$status" -eq 0 ]
  cmp "$served/dnn/neuron1024-l$layers-categories.tsv" "$out/neuron1024-l$layers-categories.tsv"
  rm "$out"/*
  sed -i '$d' "$served/dnn/neuron1024-l$layers-categories.tsv"
  official --only categories
  [ "$status" -eq 3 ]
  [[ "$output" == *"1811 categories, expected 1812"* ]]
  [ -z "$(ls "$out")" ]
}

@test "fetch_official checks inputs" {
  cd "$BATS_TEST_TMPDIR"
  choose_problem
  mkdir "$served/mnist"
  awk 'BEGIN { for (i = 1; i <= 60000; ++i) print i "\t1024\t1" }' >one
  gzip -1 -k one
  { for ((n = 1; n <= nonzeros / 60000; ++n)); do cat one.gz; done && head -n $((nonzeros % 60000)) one | gzip -1; } >"$served/mnist/sparse-images-1024.tsv.gz"
  serve
  official --only inputs
  [ "$status" -eq 0 ]
  [ "$(ls "$out")" = sparse-images-1024.tsv.gz ]
  rm "$out"/*
  printf '1\t1\t1\n2\t1025\t1\n' | gzip >"$served/mnist/sparse-images-1024.tsv.gz"
  official --only inputs
  [ "$status" -eq 3 ]
  [[ "$output" == *"line 2: "* ]]
  [ -z "$(ls "$out")" ]
}

@test "the fetch scripts refuse what they do not know" {
  run "$root/data_scripts/fetch_official.sh" --neurons 1000 --layers 120
  [ "$status" -eq 2 ]
  run "$root/data_scripts/fetch_official.sh" --neurons 1024 --layers 121
  [ "$status" -eq 2 ]
  run "$root/data_scripts/fetch_mnist.sh" --out
  [ "$status" -eq 2 ]
  run "$root/data_scripts/fetch_mnist.sh" --surprise
  [ "$status" -eq 2 ]
}
