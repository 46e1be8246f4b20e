#!/usr/bin/env bats
# shellcheck disable=SC2030,SC2031,SC2154  # support.bash sets them; teardown is in the subshell of its test
# A node that dies in the middle of a run: Slurm queues the job again, and it goes on from its last checkpoint.

setup() {
  load support
  make_site
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 4000 --seed 5 --out images.spdnn
  problem=(--generate official --neurons 1024 --layers 1920 --inputs images.spdnn)
  "$SPDNN" infer "${problem[@]}" --categories truth.tsv >/dev/null
  problem+=(--truth truth.tsv --device cpu --reduce none)
  edit SPDNN_CHECKPOINT_EVERY=1s SPDNN_GPUS=0
  cluster=$(dirname "$SLURM_CONF")
}

heal() { "$BATS_TEST_DIRNAME/cluster.sh" heal "$cluster" "$dead"; }

# Prints the remaining part of all images x layers of the checkpoint, in per cent.
left() {
  jq '[.left[] | (1920 - .layer) * ([.images[][1]] | add)] | add / (1920 * 4000) * 100 | floor' "$results/$1.checkpoint"
}
well_begun() { [ "$(left "$1")" -le 80 ]; }

# Prints the node on which rank 0 and the job's script run, or the last one.
node_of() { scontrol show hostnames "$(squeue --noheader --jobs="$job" --format=%N)" | "$1" -n 1; }

@test "a node that dies: the job is queued again and goes on from its last checkpoint, on other nodes" {
  for which in tail head; do
    submit infer --name "$which" --nodes 2 -- "${problem[@]}"
    within_limit well_begun "$which"
    dead=$(node_of "$which")
    cp "$results/$which.checkpoint" before
    "$BATS_TEST_DIRNAME/cluster.sh" kill "$cluster" "$dead"
    table
    [ "$status" -eq 0 ]
    [ "$(restarts_of "$job")" -eq 1 ]
    jq -c '[.parts, .checkpoints, .seconds.infer.sum, .verdict]' "$results/$which.json"
    jq -e '.verdict.status == "PASSED" and .verdict.missing == 0 and .parts == 2 and .checkpoints.lost_parts == 1
      and .checkpoints.lost_seconds > 0 and .checkpoints.written > 1' "$results/$which.json"
    # It began with more done than when the node was chosen, or as much: more written than by one of the two parts.
    jq -es '.[0].costs.written < .[1].checkpoints.written' before "$results/$which.json"
    nothing_is_left
    heal
    dead=''
  done
}

teardown() {
  local log
  for log in "$site"/build/cluster/logs/*.log; do
    if [ -e "$log" ]; then echo "== $log" && cat "$log"; fi
  done
  timeout 100 scancel --partition=test --partition=urgent
  if [ -n "${dead:-}" ]; then heal; fi
}
