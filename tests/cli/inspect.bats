#!/usr/bin/env bats
# spdnn inspect --html: the page is written whole, agrees with a run, and wrong requests are refused. tests/unit checks
# the numbers, options.bats the output of inspect.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
  # Two layers of four neurons: neurons 1 and 2 of the first are twins.
  mkdir net
  printf '1\t1\t1\n1\t2\t1\n3\t3\t1\n4\t4\t1\n' >net/n4-l1.tsv
  for i in 1 2 3 4; do printf '%d\t%d\t1\n' $i $i; done >net/n4-l2.tsv
  for i in 1 2 3 4 5 6 7 8 9; do printf '%d\t%d\t1\n' $i $((i % 4 + 1)); done >images.tsv
  inspect=("$SPDNN" inspect net --bias -0.25 --variant cpu_openmp)
}

infer() { "$SPDNN" infer --network net --bias -0.25 --inputs images.tsv --images 10 --json run.jsonl "$@" >/dev/null; }

# refused STATUS MESSAGE COMMAND...: one line, and no page.
refused() {
  run "${@:3}"
  echo "$output"
  [ "$status" -eq "$1" ]
  # shellcheck disable=SC2053  # a pattern
  [[ "$output" == $2 ]]
  [ "${#lines[@]}" -eq 1 ]
  [ ! -e out.html ]
}

@test "the page is one file that asks for nothing, and what is printed stays as it was" {
  "${inspect[@]}" >printed
  "${inspect[@]}" --html out.html --layer 2 >again
  cmp printed again
  [ "$(tail -1 out.html)" = '</html>' ]
  [ "$(grep -cE '(src|href)="?https?:' out.html)" -eq 0 ]
  grep -q 'Layer 2: where the edges are' out.html
  grep -q 'with <code>--run run.jsonl</code>' out.html
  for id in layers-table degree readers spy passes-shares passes-table classes edges-by-layer; do grep -q "id=\"$id\"" out.html; done
  "${inspect[@]}" --html - --layer 2 >stdout.html 2>report
  cmp printed report
  cmp out.html stdout.html
}

@test "a run shows where images die and settle" {
  infer --variant cpu_reference
  jq -e '(.active | length) == 2 and (.alive | length) == 2' run.jsonl
  "${inspect[@]}" --html out.html --run run.jsonl >/dev/null
  grep -q 'From a run of 10 images by <code>cpu_reference fp64</code>' out.html
  grep -q 'id="images-chart"' out.html
  grep -q 'Lines do not identify their network' out.html
  # The last run of this network counts, wherever others stand.
  infer --variant cpu_openmp
  cp run.jsonl both.jsonl
  jq -c '.problem.edges += 1 | .rate *= 9 / 8 | .rate_end_to_end *= 9 / 8 | .rate_with_setup *= 9 / 8' run.jsonl >>both.jsonl
  "${inspect[@]}" --html out.html --run both.jsonl >/dev/null
  grep -q 'by <code>cpu_openmp</code>' out.html
}

@test "memory of ranks: each has its part of the images, and those of a node share the plan" {
  "$SPDNN" generate network --family random --neurons 4096 --layers 8 --degree 32 --weights normal:0.06:0.01 --bias -0.3 --out n.spdnn
  memory=("$SPDNN" inspect n.spdnn --variant cpu_openmp --reduce none --images 60000 --threads 1)
  "${memory[@]}" --json one.json >printed
  ! grep -q '^job ' printed
  "${memory[@]}" --json - 2>again | cmp one.json -
  cmp printed again
  "${memory[@]}" --ranks 8 --ranks-per-node 4 --json eight.json >printed
  grep -q '^job     8 ranks, 4 on each node, with 7500 images and 1 thread each$' printed
  grep -qE '^        first node +[0-9.]+ MB  \(at least [0-9.]+ MB\)$' printed
  grep -q '^        other nodes ' printed
  "${memory[@]}" --ranks 8 --ranks-per-node 4 --checkpoint --json stopped.json >printed
  jq -se 'map(.memory) | .[0] as $one | .[1] as $eight | .[2] as $stopped
    | $one.images_of_a_rank == 8 * $eight.images_of_a_rank and $eight.plan == $one.plan and $eight.device == null
    and $eight.node.most - $eight.rank.most == 3 * ($eight.rank.most - $eight.plan)
    and $eight.first_node.most >= $eight.node.most and $eight.rank.least < $eight.rank.most
    and $one.first_node.most == $one.host_peak
    and $stopped.rank.most - $eight.rank.most >= 7500 * 4096 * 4' one.json eight.json stopped.json
  # More ranks than images, and fewer ranks than a node takes.
  "${memory[@]}" --ranks 3 --ranks-per-node 64 --json three.json >printed
  jq -e '.memory.ranks_per_node == 3' three.json
  # Without --threads, as many as a run has.
  infer
  "${inspect[@]}" --json own.json >printed
  jq -se '.[0].machine.threads == .[1].memory.threads' run.jsonl own.json
  refused 2 'spdnn: --ranks: *' "${memory[@]}" --ranks 0
  refused 2 'spdnn: --json and --html cannot both be -*' "${memory[@]}" --json - --html -
}

@test "layers that are not there, runs of other networks and pages that cannot be written are refused" {
  infer
  refused 2 'spdnn: --layer: 0 is outside 1..*' "${inspect[@]}" --html out.html --layer 0
  refused 2 'spdnn: --layer: 3 is outside 1..2' "${inspect[@]}" --html out.html --layer 3
  refused 2 'spdnn: --layer: *' "${inspect[@]}" --html out.html --layer 2x
  refused 2 'spdnn: --layer needs --html' "${inspect[@]}" --layer 1
  refused 2 'spdnn: --run needs --html' "${inspect[@]}" --run run.jsonl
  jq -c '.problem.layers = 3' run.jsonl >other.jsonl
  refused 3 'spdnn: other.jsonl: no run of this network, expected one of 2 layers and 8 edges from 4 to 4 neurons with bias '* \
    "${inspect[@]}" --html out.html --run other.jsonl
  # Of the same neurons, layers and edges, but another cap.
  jq -c '.problem.cap = 31' run.jsonl >other.jsonl
  refused 3 'spdnn: other.jsonl: no run of this network, *' "${inspect[@]}" --html out.html --run other.jsonl
  : >empty.jsonl
  refused 3 'spdnn: empty.jsonl: no run of this network, *' "${inspect[@]}" --html out.html --run empty.jsonl
  refused 3 'spdnn: missing.jsonl: *' "${inspect[@]}" --html out.html --run missing.jsonl
  echo '{' >bad.jsonl
  refused 3 'spdnn: bad.jsonl:1:*: not JSON: *' "${inspect[@]}" --html out.html --run bad.jsonl
  printf '%3000000s' '' | tr ' ' '[' >deep.jsonl
  refused 3 'spdnn: deep.jsonl:1:65: nested too deeply, *' "${inspect[@]}" --html out.html --run deep.jsonl
  refused 2 'spdnn: --html run.jsonl: would overwrite --run run.jsonl, *' "${inspect[@]}" --html run.jsonl --run run.jsonl
  refused 2 'spdnn: --html net/n4-l1.tsv: would be read as part of --network net, *' "${inspect[@]}" --html net/n4-l1.tsv
  mkdir folder
  refused 3 'spdnn: folder: *' "${inspect[@]}" --html folder
  refused 3 'spdnn: missing/out.html: *' "${inspect[@]}" --html missing/out.html
  "${inspect[@]}" >printed
  status=0
  "${inspect[@]}" --html /dev/full >again 2>stderr || status=$?
  [ "$status" -eq 3 ]
  cmp printed again
  [[ "$(cat stderr)" == 'spdnn: /dev/full: '*'No space left on device'* ]]
  [ -z "$(ls folder)" ]
}

@test "a network that leaves no memory for its plan is refused before that is made" {
  printf '1\t1\t1\n' >one.tsv
  wide=("$SPDNN" inspect one.tsv --neurons 1000000 --bias 0 --images 1 --reduce all --variant cpu_openmp)
  refused 4 'spdnn: --host-memory: network and planning take 52.0 MB, but 50.0 MB are available' "${wide[@]}" --host-memory 50MB --html out.html
  "${wide[@]}" --host-memory 53MB >/dev/null
  refused 4 'spdnn: --host-memory: network and planning take 52.0 MB, but 50.0 MB are available' "$SPDNN" infer --network one.tsv \
    --neurons 1000000 --inputs one.tsv --images 1 --bias 0 --host-memory 50MB
  "$SPDNN" generate network --family official --neurons 1024 --layers 40 --out net.spdnn
  refused 4 'spdnn: the network takes * in memory, more than is available; infer streams its layers' "$SPDNN" inspect net.spdnn --host-memory 5MB
  refused 2 "spdnn: --host-memory: '0' is not a size*" "${wide[@]}" --host-memory 0
}

@test "the page works in a browser, without a network" {
  for command in chromium chromedriver /usr/lib/python3/dist-packages/selenium; do
    [ -n "${CI:-}" ] || command -v $command >/dev/null || [ -e $command ] || skip "needs $command: make deps"
  done
  "$SPDNN" generate network --family radixnet --neurons 256 --layers 12 --degree 4 --bias -0.2 --out net.spdnn
  "$SPDNN" generate inputs --family digits --neurons 256 --images 500 --seed 1 --out images.spdnn
  "$SPDNN" infer --network net.spdnn --inputs images.spdnn --json run.jsonl --progress never >/dev/null
  "$SPDNN" inspect net.spdnn --html out.html --run run.jsonl >/dev/null
  "$SPDNN" generate model --family vgg8 --out model.spdnn
  "$SPDNN" inspect model.spdnn --html model.html >/dev/null
  for page in out.html model.html; do
    run /usr/bin/python3 "$root/tests/report/browser.py" $page
    echo "$output"
    [ "$status" -eq 0 ]
  done
  # The test can fail: a spy plot without its cells.
  sed 's/plugins: \[drawCells\]/plugins: []/; s/counts\.forEach/[].forEach/' out.html >broken.html
  run /usr/bin/python3 "$root/tests/report/browser.py" broken.html
  echo "$output"
  [ "$status" -ne 0 ]
}

@test "the page of a model: one file that asks for nothing, beside what is printed as ever" {
  "$SPDNN" generate model --family lenet5 --out m.spdnn >/dev/null
  "$SPDNN" inspect m.spdnn >printed
  grep -qE '^would run [a-z_]+ fp[0-9]+ for 1 image at a time: ' printed
  "$SPDNN" inspect m.spdnn --batch 2 --json two.json | grep -q '^would run .* for 2 images at a time: '
  "$SPDNN" inspect m.spdnn --html page.html --json model.json >again
  cmp printed again
  jq -e '.would_run != null and .why != ""' model.json
  jq -se '[.[].variants | map(select(.why_not == null))] | transpose | length > 1 and all(.[0].bytes < .[1].bytes)' \
    model.json two.json
  [ "$(tail -1 page.html)" = '</html>' ]
  [ "$(grep -cE '(src|href)="?https?:' page.html)" -eq 0 ]
  for id in nodes-table zeros rows skew spy work-by-node variants-table program-table; do grep -q "id=\"$id\"" page.html; done
  grep -q 'node 8 is shown in detail' page.html
  "$SPDNN" inspect m.spdnn --html - >stdout.html 2>report
  cmp printed report
  cmp page.html stdout.html
  "$SPDNN" inspect m.spdnn --node 1 --html page.html >/dev/null
  grep -q 'node 1 is shown in detail' page.html
  rm page.html
  refused 2 'spdnn: --node: node 2 is relu, which has no weights' "$SPDNN" inspect m.spdnn --html out.html --node 2
  refused 2 'spdnn: --node: 11 is outside 1..10' "$SPDNN" inspect m.spdnn --html out.html --node 11
  refused 2 'spdnn: --node needs --html' "$SPDNN" inspect m.spdnn --node 1
  refused 2 'spdnn: --json and --html cannot both be -*' "$SPDNN" inspect m.spdnn --html - --json -
  refused 2 'spdnn: --html m.spdnn: would overwrite MODEL m.spdnn*' "$SPDNN" inspect m.spdnn --html m.spdnn
  refused 3 'spdnn: missing/out.html: *' "$SPDNN" inspect m.spdnn --html missing/out.html
  status=0
  "$SPDNN" inspect m.spdnn --html /dev/full >again 2>stderr || status=$?
  [ "$status" -eq 3 ]
  cmp printed again
  [[ "$(cat stderr)" == 'spdnn: /dev/full: '*'No space left on device'* ]]
}

# model_of DIRECTORY SHAPE NODES: a model without weights.
model_of() {
  mkdir "$1"
  printf '\x02\0\0\0\0\0\0\0{}' >"$1/m.safetensors"
  echo "{\"input_shape\": $2, \"nodes\": [$3]}" >"$1/architecture.json"
}

@test "inspect says of a model that infer refuses why it does, in the same words" {
  # would_refuse DIRECTORY CODE PATTERN [BEFORE]: both; infer says BEFORE in front of it.
  would_refuse() {
    run "$SPDNN" inspect "$1/m.safetensors" --json inspected.json --html page.html
    echo "$output"
    [ "$status" -eq 0 ]
    why=$(jq -r .why inspected.json)
    # shellcheck disable=SC2053
    [[ "$why" == $3 ]]
    [[ "${lines[-1]}" == "would run nothing: $why" ]]
    jq -e '.would_run == null' inspected.json
    grep -q 'refuses the model' page.html
    run "$SPDNN" infer --model "$1/m.safetensors" --inputs four.npy --progress never
    echo "$output"
    [ "$status" -eq "$2" ]
    # How much memory is left changes from one moment to the next.
    refused=${output#spdnn: "$4"}
    memory='s/[0-9.]+ [kMGT]?B (that|are available)//'
    [ "$(sed -E "$memory" <<<"$refused")" = "$(sed -E "$memory" <<<"$why")" ]
  }
  "$SPDNN" generate tensors --shape 4,3 --out four.npy >/dev/null
  model_of turned '[4, 3]' '{"op": "transpose", "name": "t", "inputs": ["input"], "order": [1, 0]}'
  would_refuse turned 3 'the output "t" is 3 x 4 for images of 4 x 3, expected as many of them on axis 0' 'turned/m.safetensors: '
  model_of joined '["N", 3]' '{"op": "reshape", "name": "r", "inputs": ["input"], "shape": ["N", 3, 1]},
    {"op": "pad", "name": "p", "inputs": ["r"], "begin": [0, 0, 0], "end": [0, 1000000000, 1000000]}'
  would_refuse joined 4 '--host-memory: conv_* needs *B for 1 image at a time; *B are available'
  # infer takes a fixed batch, too.
  model_of fixed '[4, 3]' '{"op": "relu", "name": "r", "inputs": ["input"]}'
  "$SPDNN" inspect fixed/m.safetensors --json inspected.json | grep -q '^would run .* for 4 images at a time: '
  jq -e '.batch == 4' inspected.json
  for command in "inspect fixed/m.safetensors" "infer --model fixed/m.safetensors --inputs four.npy"; do
    # shellcheck disable=SC2086
    run "$SPDNN" $command --batch 2
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "$output" == "spdnn: --batch: the model takes 4 images at a time; "* ]]
  done
}

@test "inspect without oneDNN's library: kernels of the program's own would run, as it says" {
  model_of plain '["N", 3]' '{"op": "relu", "name": "r", "inputs": ["input"]}'
  mkdir bare
  cp -L "$SPDNN" bare/spdnn
  run bare/spdnn inspect plain/m.safetensors --json inspected.json
  echo "$output"
  [[ "$output" == *"program of conv_dense:"*"plain_activation"*"rows -> rows"*'"r" (relu)'* ]]
  jq -e '.would_run == "conv_dense fp32" and (.variants[] | select(.name == "conv_dense") | .program | length) == 2
    and (.variants[] | select(.name == "conv_reference") | .program) == []' inspected.json
}

@test "inspect chooses for the model that infer runs, of which rewrites leave less" {
  # Half of the first node's outputs are zero for every image. The other nodes have too many non-zero weights for a kernel that
  # skips zeros.
  /usr/bin/python3 -c "
import numpy, struct
weights = numpy.zeros((512, 256), '<f4')
weights[:256, ::4] = 1
last = numpy.ones((10, 512), '<f4')
header = '{\"a.weight\":{\"dtype\":\"F32\",\"shape\":[512,256],\"data_offsets\":[0,524288]},' \
  '\"b.weight\":{\"dtype\":\"F32\",\"shape\":[10,512],\"data_offsets\":[524288,544768]}}'
weights[:256, 0] = numpy.arange(1, 257)  # so that no two are equal
open('m.safetensors', 'wb').write(struct.pack('<Q', len(header)) + header.encode() + weights.tobytes() + last.tobytes())"
  echo '{"input_shape": ["N", 256], "nodes": [
    {"op": "linear", "name": "a", "inputs": ["input"], "cin": 256, "cout": 512, "bias": false},
    {"op": "linear", "name": "b", "inputs": ["a"], "cin": 512, "cout": 10, "bias": false}]}' >architecture.json
  "$SPDNN" generate tensors --shape 16,256 --out images.npy >/dev/null
  "$SPDNN" infer --model m.safetensors --inputs images.npy --batch 16 --json run.json --progress never >out
  jq -e '.notes[0] == "256 channels are removed, as no output depends on them"' run.json
  "$SPDNN" inspect m.safetensors --batch 16 --json inspected.json >out
  jq -se '.[0].would_run == .[1].variant + " " + .[1].precision' inspected.json run.json
}

@test "inspect and infer say that values are quantised" {
  printf '\2\0\0\0\0\0\0\0{}' >m.safetensors
  jq -n '{input_shape: ["N", 3], nodes: [{op: "round", name: "r", inputs: ["input"]},
    {op: "clip", name: "q", inputs: ["r"], low: 0, high: 255}]}' >architecture.json
  "$SPDNN" inspect m.safetensors --json inspected.json --html page.html >out
  grep '^note      1 value is quantised; ' out
  jq -e '.notes | length == 1 and (.[0] | startswith("1 value is quantised; "))' inspected.json
  grep -q '1 value is quantised; ' page.html
  "$SPDNN" generate tensors --shape 2,3 --out images.npy >/dev/null
  "$SPDNN" infer --model m.safetensors --inputs images.npy --json run.json --progress never | grep ' 1 value is quantised; '
  jq -e '.notes[0] | startswith("1 value is quantised; ")' run.json
}
