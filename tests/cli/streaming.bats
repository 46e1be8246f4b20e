#!/usr/bin/env bats
# Networks that do not fit into the memory allowed: layers are streamed, results stay, and little memory is taken.

load ../support/computing
load ../support/sampled
load ../support/within

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  infer=("$SPDNN" infer --network net.spdnn --inputs images.spdnn --progress never)
}

# make_problem LAYERS IMAGES: an official network of 1024 neurons, 131 kB per layer in memory and half of it in the file.
make_problem() {
  "$SPDNN" generate network --family official --neurons 1024 --layers "$1" --out net.spdnn --progress never
  "$SPDNN" generate inputs --family digits --neurons 1024 --images "$2" --out images.spdnn --progress never
}

# peak COMMAND...: the most memory that the command has taken, in kB.
peak() { python3 -c 'import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)' "$@"; }

@test "the categories are those of the run in memory, for all engines and passes, and are verified" {
  make_problem 120 150
  for variant in cpu_openmp cpu_reference; do
    for reduce in none dead all; do
      # A sample leaves out what is slow, and what another variant does.
      case $variant/$reduce in cpu_reference/[na]* | cpu_openmp/dead) in_full || continue ;; esac
      "${infer[@]}" --variant $variant --threads 1 --reduce $reduce --categories want.tsv --json want.json >/dev/null
      jq -e '.streamed == null' want.json
      "${infer[@]}" --variant $variant --threads 1 --reduce $reduce --categories got.tsv --json got.json --host-memory 16M >got.txt
      cmp want.tsv got.tsv
      if [ $reduce = all ]; then # what twins leave fits
        jq -e '.streamed == null and .stored_edges < .problem.edges' got.json
      else
        jq -e '.streamed.layers_at_once >= 2 and .streamed.bytes_read > 7800000' got.json
        grep -q 'did not fit into host memory' got.txt
      fi
      [ "$(jq -c '[.passes, .alive, .verdict, .problem]' want.json)" = "$(jq -c '[.passes, .alive, .verdict, .problem]' got.json)" ]
    done
  done
  [ -s want.tsv ]
  run "${infer[@]}" --threads 1 --host-memory 16M --reduce dead --verify all --compare --trials 2
  [ "$status" -eq 0 ]
  [[ "$output" == *"categories equal"*"PASSED"*"cpu_reference on all images"* ]]
}

@test "the memory taken is bounded, whatever the network's size" {
  make_problem 600 64 # 79 MB in memory
  whole=$(peak "${infer[@]}" --reduce dead --threads 2)
  streamed=$(peak "${infer[@]}" --reduce dead --threads 2 --host-memory 16M)
  planned=$(peak "${infer[@]}" --reduce all --threads 2 --host-memory 32M)
  echo "whole $whole kB, streamed $streamed kB, planned $planned kB"
  [ "$whole" -gt 80000 ]
  [ "$streamed" -lt $((whole - 50000)) ]
  [ "$planned" -lt $((whole - 30000)) ]
}

@test "an official network is generated and converted layer by layer, byte for byte as in memory" {
  generate=("$SPDNN" generate network --family official --neurons 1024 --layers 60 --progress never)
  "${generate[@]}" --out want.spdnn
  "${generate[@]}" --out got.spdnn --host-memory 4M
  cmp want.spdnn got.spdnn
  "$SPDNN" convert want.spdnn copy.spdnn --host-memory 4M --progress never
  cmp want.spdnn copy.spdnn
  "$SPDNN" convert want.spdnn planned.spdnn --plan all --progress never
  "$SPDNN" convert want.spdnn got.spdnn --plan all --host-memory 6M --progress never
  cmp planned.spdnn got.spdnn
  "$SPDNN" convert want.spdnn got.spdnn --plan all --layers 50 --host-memory 5M --progress never
  "$SPDNN" convert want.spdnn want50.spdnn --plan all --layers 50 --progress never
  cmp want50.spdnn got.spdnn
  run "$SPDNN" convert want.spdnn none.spdnn --plan dead --host-memory 4M --progress never
  [ "$status" -eq 4 ]
  [ ! -e none.spdnn ]
}

@test "a directory of TSV layers is converted layer by layer, as it is in memory" {
  "$SPDNN" generate network --family official --neurons 1024 --layers 40 --out net.spdnn --progress never
  "$SPDNN" convert net.spdnn text --progress never
  for plan in '' '--plan all'; do
    # shellcheck disable=SC2086 # two words, or none
    "$SPDNN" convert text want.spdnn $plan --progress never
    # shellcheck disable=SC2086
    "$SPDNN" convert text got.spdnn $plan --host-memory 4M --progress never
    cmp want.spdnn got.spdnn
  done
  "$SPDNN" convert text want.spdnn --bias -0.1 --cap 5 --bias-rule everywhere --layers 30 --progress never
  "$SPDNN" convert text got.spdnn --bias -0.1 --cap 5 --bias-rule everywhere --layers 30 --host-memory 1M --progress never
  cmp want.spdnn got.spdnn
  "$SPDNN" generate network --family random --neurons 300 --layers 9 --weights normal:0.1:0.1 --bias 0.5 --out random --progress never
  for layer in 1 2 3 4 5 6 7 8 9; do seq 300 | sed 's/.*/&\t0.&/' >random/n300-l$layer-bias.tsv; done
  rm random/spdnn-network.txt
  "$SPDNN" convert random want.spdnn --progress never
  "$SPDNN" convert random got.spdnn --host-memory 700k --progress never
  cmp want.spdnn got.spdnn
  rm random/*-bias.tsv
  run "$SPDNN" convert random got.spdnn --host-memory 700k --progress never
  [ "$status" -eq 2 ]
  [[ "$output" == *"is not of official form and has no biases"* ]]
  cp text/n1024-l3.tsv text/n1024-l5.tsv
  run "$SPDNN" convert text none.spdnn --host-memory 4M --progress never
  [ "$status" -eq 3 ]
  [[ "$output" == *"n1024-l5.tsv: differs from its entry in spdnn-network.txt"* ]]
  [ ! -e none.spdnn ]
}

@test "the official network that is made for a run is streamed as well" {
  make_problem 60 100
  run=("$SPDNN" infer --generate official --neurons 1024 --layers 60 --inputs images.spdnn --reduce dead
    --threads 1 --progress never)
  "${run[@]}" --categories want.tsv >/dev/null
  "${run[@]}" --categories got.tsv --host-memory 8M --json got.json >/dev/null
  cmp want.tsv got.tsv
  jq -e '.streamed.bytes_read == 0' got.json
}

@test "a stored plan is taken where it fits, and else the network is streamed" {
  make_problem 120 100
  "$SPDNN" convert net.spdnn planned.spdnn --plan dead --progress never
  "${infer[@]}" --categories want.tsv >/dev/null
  "$SPDNN" infer --network planned.spdnn --inputs images.spdnn --reduce dead --threads 1 --host-memory 16M --json got.json \
    --categories got.tsv --progress never >/dev/null
  jq -e '.streamed.bytes_read > 0
    and (.notes | any(startswith("the plan stored with the network is not used: it takes ")))' got.json
  cmp want.tsv got.tsv
  "$SPDNN" infer --network planned.spdnn --inputs images.spdnn --reduce dead --threads 1 --json got.json --progress never >/dev/null
  jq -e '.streamed == null and (.notes == ["the plan was stored with the network"])' got.json
}

@test "a corrupted, shortened or changing file gives exit code 3" {
  make_problem 120 100
  cp net.spdnn good.spdnn
  printf 'xyz' | dd of=net.spdnn bs=1 seek=4000000 conv=notrunc status=none
  run "${infer[@]}" --threads 1 --host-memory 16M --reduce dead
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: net.spdnn: is corrupted: the checksum of section "*" differs" ]]
  run "${infer[@]}" --threads 1 --host-memory 16M --reduce all
  [ "$status" -eq 3 ]
  head -c 5000000 good.spdnn >net.spdnn
  run "${infer[@]}" --threads 1 --host-memory 16M --reduce dead
  [ "$status" -eq 3 ]
  cp good.spdnn net.spdnn
  "${infer[@]}" --threads 1 --host-memory 16M --reduce dead --trials 100000 >out.txt 2>err.txt &
  pid=$!
  within 600 compute $pid
  printf 'xyz' | dd of=net.spdnn bs=1 seek=4000000 conv=notrunc status=none
  status=0
  wait $pid || status=$?
  [ "$status" -eq 3 ]
  grep -q 'net.spdnn: changed while it was being read' err.txt
  [ "$(wc -l <err.txt)" -eq 1 ]
}

@test "networks that cannot be streamed and options that do not fit are refused in one line" {
  make_problem 60 20
  "$SPDNN" convert net.spdnn dir --progress never
  run "$SPDNN" infer --network dir --inputs images.spdnn --host-memory 4M --progress never
  [ "$status" -eq 4 ]
  [ "${#lines[@]}" -eq 1 ]
  [[ "$output" == *"spdnn convert"* ]]
  run "${infer[@]}" --host-memory 200k --reduce dead
  [ "$status" -eq 4 ]
  [ "${#lines[@]}" -eq 1 ]
  for size in 0 -1 4X many ''; do
    for option in --host-memory --device-memory; do
      run "${infer[@]}" "$option=$size"
      [ "$status" -eq 2 ]
      [ "${#lines[@]}" -eq 1 ]
    done
  done
}

@test "memory for less than two layers is refused, and the message says what they take" {
  make_problem 4 10
  run "${infer[@]}" --host-memory 100kB
  echo "$output"
  [ "$status" -eq 4 ]
  [ "$output" = "spdnn: --host-memory: two layers, the minimum in memory at a time, take 278.5 kB, but only 98.7 kB are left beside the images" ]
}

@test "images that take more than the limit are refused before they are read" {
  make_problem 4 20000 # 2.56 MB of images
  "$SPDNN" convert images.spdnn images.tsv --progress never
  expected='spdnn: --host-memory: the images take 2.6 MB, but 2.5 MB are available'
  printf 'zzzz' | dd of=images.spdnn bs=1 seek=1000000 conv=notrunc status=none
  run "${infer[@]}" --host-memory 2500kB
  echo "$output"
  [ "$status" -eq 4 ]
  [ "$output" = "$expected" ]
  run "${infer[@]}" --host-memory 20MB
  [ "$status" -eq 3 ]
  [[ "$output" == *"images.spdnn: is corrupted"* ]]
  run "$SPDNN" infer --network net.spdnn --inputs images.tsv --host-memory 2500kB --progress never # known when it is read
  [ "$status" -eq 4 ]
  [ "$output" = "$expected" ]
  printf '\0\0\10\3\0\0\352\140\0\0\0\34\0\0\0\34' >cut-idx3-ubyte # 60000 images of 28 x 28 pixels that are not there
  run "$SPDNN" infer --network net.spdnn --mnist cut-idx3-ubyte --host-memory 7MB --progress never
  echo "$output"
  [ "$status" -eq 4 ]
  [ "$output" = 'spdnn: --host-memory: the images take 7.7 MB, but 7.0 MB are available' ]
}
