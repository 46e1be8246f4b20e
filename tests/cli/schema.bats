#!/usr/bin/env bats
# Every JSON line fits tests/schema/results.schema.json: the committed ones, and those that each command writes today. A line
# that lacks a field, or has a misspelt one, does not.

load ../support/ranks
load ../support/sampled

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  check=("$root/tests/tools/check_lines.py")
  export PYTHONDONTWRITEBYTECODE=1
  cd "$BATS_TEST_TMPDIR" || return 1
}

# make_problem LAYERS: an official network of 1024 neurons, and 40 images.
make_problem() {
  "$SPDNN" generate network --family official --neurons 1024 --layers "$1" --out net.spdnn --progress never
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 40 --out images.spdnn --progress never
  infer=(infer --network net.spdnn --inputs images.spdnn --device cpu --progress never)
}

# make_model: a small model, with images, and the labels and logits that it makes of them.
make_model() {
  /usr/bin/python3 "$root/tests/support/toy_model.py" .
  model=(infer --model model.safetensors --inputs images.npy --progress never)
  "$SPDNN" "${model[@]}" --predictions labels.npy --logits logits.npy
}

# fits FILE...: all lines do.
fits() {
  run "${check[@]}" "$@"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "the committed lines fit the schema" {
  awk -v every="$(sampled 16 1)" 'FNR == 1 || FNR % every == 0' "$root"/results/*/*.jsonl >committed.jsonl
  fits --schema committed.jsonl
  [[ "$output" =~ ^[0-9]{3,}\ lines,\ 0\ that ]]
}

@test "the page on results explains each field of the schema" {
  fields=$(jq -r '[.. | objects | select(has("additionalProperties")) | .properties | keys[]] | unique[]' \
    "$root/tests/schema/results.schema.json")
  [ "$(wc -w <<<"$fields")" -gt 90 ]
  for field in $fields; do
    grep -qE "[\`.]$field[\`.]" "$root/results/README.md" || missing+=" $field"
  done
  echo "missing:$missing"
  [ -z "$missing" ]
}

@test "lines of infer fit the schema: compared, verified, streamed, warmed up, with wrong categories, overflow and fp64" {
  make_problem 120
  "$SPDNN" "${infer[@]}" --json plain.json >out
  "$SPDNN" "${infer[@]}" --compare --verify all --trials 3 --warm-up 2 --device-state --json compared.json >out
  "$SPDNN" "${infer[@]}" --precision fp64 --reduce twins,merge,dead --verify 3 --json sample.json >out
  "$SPDNN" "${infer[@]}" --reduce none --threads 1 --host-memory 16M --json streamed.json >out
  printf '1\n' >wrong.tsv
  "$SPDNN" "${infer[@]}" --truth wrong.tsv --json failed.json >out || [ $? -eq 1 ]
  printf '1\t1\t3e38\n2\t1\t3e38\n' >n2-l1.tsv
  printf '1\t1\t1\n1\t2\t1\n' >images.tsv
  "$SPDNN" infer --network n2-l1.tsv --bias 0 --cap none --inputs images.tsv --variant cpu_openmp --progress never --json overflow.json >out
  jq -se '.[0].compared and .[1].verdict.status == "FAILED" and .[2].overflow and .[3].streamed' \
    compared.json failed.json overflow.json streamed.json
  fits ./*.json
  [[ "$output" == "6 lines, "* ]]
}

@test "lines of infer --model fit the schema: unverified, verified, profiled, of several ranks" {
  make_model
  "$SPDNN" "${model[@]}" --json plain.json >out
  "$SPDNN" "${model[@]}" --labels labels.npy --min-accuracy 0.5 --expected logits.npy --verify 3 --profile --trials 2 --json all.json >out
  lines_of=(plain.json all.json)
  if use_mpi; then
    ranks 2 "${model[@]}" --json ranks.json
    jq -e '.ranks' ranks.json
    lines_of+=(ranks.json)
  fi
  fits "${lines_of[@]}"
  [[ "$output" == "${#lines_of[@]} lines, "* ]]
}

@test "lines of bench model fit the schema: alone, with times of nodes" {
  make_model
  "$SPDNN" bench model model.safetensors --runs 2 --warm-up 0 --batch 1,2 --threads 1 --json plain.jsonl >out
  "$SPDNN" bench model model.safetensors --runs 2 --warm-up 0 --layers --json layers.jsonl >out
  fits plain.jsonl layers.jsonl
  [[ "$output" == "3 lines, "* ]]
  "$SPDNN" report plain.jsonl layers.jsonl >out
}

@test "lines of bench conv fit the schema" {
  "$SPDNN" bench conv --table skimcaffe --runs 1 --warm-up 0 --sparsity 0.9 --threads 1 --json conv.jsonl >out
  fits conv.jsonl
  [[ "$output" == "8 lines, "* ]]  # in fp32 and in int8
}

@test "lines of inspect MODEL fit the schema: with weights and without, of one that would run and of one that infer refuses" {
  make_model
  "$SPDNN" inspect model.safetensors --json toy.json >out
  "$SPDNN" generate model --family random --out random.onnx
  "$SPDNN" inspect random.onnx --batch 3 --json random.json >out
  mkdir turned
  printf '\x02\0\0\0\0\0\0\0{}' >turned/m.safetensors
  echo '{"input_shape": [4, 3], "nodes": [{"op": "transpose", "name": "t", "inputs": ["input"], "order": [1, 0]}]}' >turned/architecture.json
  "$SPDNN" inspect turned/m.safetensors --json turned.json >out
  jq -se '.[0].would_run and .[1].batch == 3 and .[2].would_run == null' toy.json random.json turned.json
  fits toy.json random.json turned.json
  # A report has nothing to show of it.
  run "$SPDNN" report toy.json
  echo "$output"
  [ "$status" -eq 3 ]
}

@test "lines of inspect NETWORK fit the schema: of one process and of ranks, generated and read" {
  make_problem 4
  "$SPDNN" inspect net.spdnn --json alone.json >out
  "$SPDNN" inspect --generate official --neurons 1024 --layers 4 --ranks 8 --ranks-per-node 4 --checkpoint --json ranks.json >out
  jq -se '.[0].network == "net.spdnn" and .[1].network == null and .[1].memory.ranks == 8' alone.json ranks.json
  fits alone.json ranks.json
  run "$SPDNN" report alone.json
  echo "$output"
  [ "$status" -eq 3 ]
}

@test "lines of several ranks and of bench scaling and bench suite fit the schema" {
  make_problem 4
  if use_mpi; then
    ranks 2 "${infer[@]}" --json ranks.json
    jq -e '.ranks' ranks.json
  fi
  printf '#!/bin/sh\nexec "$@"\n' >launch
  chmod +x launch
  "$SPDNN" bench scaling --images 100 --layers 4 --trials 1 --device cpu --ranks 1 --launcher ./launch --json scaling.json
  "$SPDNN" bench suite --neurons 1024 --images 40 --layers 4 --trials 1 --device cpu --repetitions 2 --ranks 1 --launcher ./launch \
    --json suite.json
  jq -se '.[0].scaling and .[1].suite' scaling.json suite.json
  fits ./*.json
}

@test "a line without one of its fields, or with one of another name or kind, is refused, whichever it is" {
  make_problem 4
  "$SPDNN" bench suite --neurons 1024 --images 40 --layers 4 --trials 1 --device cpu --repetitions 1 --json run.jsonl
  "$SPDNN" "${infer[@]}" --compare --json compared.json >out
  cat compared.json >>run.jsonl
  head -n 1 "$root/results/h200/layers.jsonl" >>run.jsonl
  # Fields that no run on this machine has: a monitored device, ranks, streamed layers, checkpoints, overflow, fp16.
  jq -c '{min: 1, median: 2.5, max: 4} as $s | .device_state = {sm_clock_mhz: $s, memory_clock_mhz: $s, temperature_c: $s, power_w: $s,
    joules_per_trial: 1.5} | .ranks = {hosts: 1, deal: "counter", images: $s, taken: $s, upload: $s, infer: $s,
      slowest: {rank: 1, host: "h", over_median: 1.5}} | .streamed = {layers_at_once: 2, bytes_read: 3}
    | .checkpoints = {every: 900, written: 2, bytes: 3, share_of_infer: 0.1, lost_parts: 1, lost_seconds: 2.5}
    | .overflow = {images: 1, layer: 2, first_ids: [3]} | .against_fp32 = {differ: 1, missing: 1, extra: 0, first_ids: [5]}' \
    compared.json >>run.jsonl
  make_model
  "$SPDNN" "${model[@]}" --labels labels.npy --min-accuracy 0.5 --expected logits.npy --verify all --profile --json model.json
  jq -c '.against_fp32 = {variant: "conv_dense", differing: 1, largest_difference: 0.5}
    | .reference.near_ties = [{image: 1, found: 2, expected: 3}]
    | {min: 1, median: 2.5, max: 4} as $s | .ranks = {hosts: 1, deal: "counter", images: $s, taken: $s, upload: $s, infer: $s,
      slowest: {rank: 1, host: "h", over_median: 1.5}}' model.json >>run.jsonl
  "$SPDNN" inspect model.safetensors --json inspected.json >out
  cat inspected.json >>run.jsonl
  "$SPDNN" inspect net.spdnn --json network.json >out
  jq -c '.memory.device = .memory.node' network.json >>run.jsonl
  "$SPDNN" bench model model.safetensors --runs 2 --warm-up 0 --threads 1 --layers --json bench.jsonl >out
  jq -c '.seconds as $s | .with = {name: "onnxruntime", version: "1.2", host: "node", file: "given", runs: 3, seconds: $s,
    images_per_second: 2, turns: 2, ratio: {min: 0.5, median: 0.75, max: 1},
    outputs: {largest_difference: 0, largest_expected: 1, agree: true}}' bench.jsonl >>run.jsonl
  "$SPDNN" bench conv --table skimcaffe --runs 1 --warm-up 0 --sparsity 0.9 --threads 1 --json conv.jsonl >out
  jq -c '{library: "oneDNN", precision: "fp32", kernel: "k", detail: "d", predicted_seconds: 1, runs: 3, seconds: .seconds,
    images_per_second: 2, deviation: .deviation, ratio: {min: 0.5, median: 0.75, max: 1}} as $peer
    | .published = {source: "s", device: "d", seconds: {"escoin_fp32": 1, "escoin_fp16": 1, "cudnn_fp32": 1, "cudnn_fp16": 1}}
    | .with = {direct: $peer, direct16: $peer, uniform16: $peer, generated16: $peer, lowered: $peer, "2to4": $peer, "2to4bf16": $peer, fp32: $peer, tf32: $peer, fp16: $peer, bf16: $peer, int8: $peer}' conv.jsonl | tail -1 >>run.jsonl
  fits run.jsonl
  [[ "$output" == "9 lines, "* ]]
  # Each field of each line in its turn: taken away, renamed, of another kind, one more beside it.
  run python3 - run.jsonl broken.jsonl "$(sampled 13 1)" <<'END'
import copy, json, sys
def objects(value, path=()):
    if isinstance(value, dict):
        yield path
        for name in value:
            yield from objects(value[name], path + (name,))
def at(value, path):
    for name in path:
        value = value[name]
    return value
broken = []
for line in open(sys.argv[1]):
    whole = json.loads(line)
    for path in objects(whole):
        for name in at(whole, path):
            for change in ("taken", "renamed", "kind"):
                old = ("overflow",) if whole["schema"] == "spdnn-model-1" else ("verify", "checks")
                if change == "taken" and name in (*old, "largest_excess", "widened", "undecided", "named_outputs", "outputs", "slowest", "deal", "taken", "images_read_by", "checkpoints", "uniform16", "generated16", "computing_threads"):
                    continue  # old lines of models, suites, runs, ranks, convolutions and benches have none
                copied = copy.deepcopy(whole)
                place = at(copied, path)
                value = place.pop(name)
                if change != "taken":
                    place[name + "s" if change == "renamed" else name] = value if change == "renamed" else {"a": [True]}
                broken.append(copied)
        copied = copy.deepcopy(whole)
        at(copied, path)["surprise"] = 1
        broken.append(copied)
broken = broken[::int(sys.argv[3])]
with open(sys.argv[2], "w") as file:
    for line in broken:
        file.write(json.dumps(line) + "\n")
print(len(broken))
END
  count=$output
  [ "$count" -gt "$(sampled 70 900)" ]
  run "${check[@]}" broken.jsonl
  [ "$status" -eq 1 ]
  echo "$output" | tail -n 1
  if [ "${lines[-1]}" != "$count lines, $count that do not fit" ]; then
    accepted=$(comm -13 <(sed -nE 's/^broken.jsonl:([0-9]+):.*/\1/p' <<<"$output" | sort -u) <(seq "$count" | sort))
    for number in $accepted; do sed -n "${number}p" broken.jsonl; done
    return 1
  fi
}

@test "a fault is reported with file, line and place" {
  head -n 2 "$root/results/h200/official.jsonl" >some.jsonl
  jq -c '.seconds.infer.median = "x"' some.jsonl | tail -n 1 >>some.jsonl
  printf '{"schema":"spdnn-run-9"}\n{"rate": NaN}\n{\n' >>some.jsonl
  run "${check[@]}" some.jsonl
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "${lines[0]}" == "some.jsonl:3: seconds.infer.median: 'x' is not of type 'number'" ]]
  [[ "${lines[1]}" == "some.jsonl:4: schema: 'spdnn-run-9' is not one of"* ]]
  [[ "${lines[2]}" == "some.jsonl:5: line: NaN is no number in JSON" ]]
  [[ "${lines[-1]}" == "6 lines, 4 that do not fit" ]]
  : >none.jsonl
  run "${check[@]}" none.jsonl
  [ "$status" -eq 1 ]
}
