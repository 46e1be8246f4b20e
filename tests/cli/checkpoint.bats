#!/usr/bin/env bats
# Runs that are stopped by a signal and continued from their checkpoint.

load ../support/within

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 2500 --out images.spdnn --progress never
  "$SPDNN" infer --generate official --neurons 1024 --layers 240 --inputs images.spdnn --device cpu --progress never \
    --categories expected.tsv
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return 1
  run_args=(infer --generate official --neurons 1024 --layers 240 --inputs images.spdnn --device cpu --reduce none
    --threads 1 --progress never --checkpoint run.checkpoint)
}

# computed PROCESS: whether it has computed for an eighth of a second, after which the run can be expected to be between its
# layers: that takes half a second and more in all.
computed() { [ "$(cut -d' ' -f14 "/proc/$1/stat")" -ge $(($(getconf CLK_TCK) / 8)) ]; }

# stop SIGNAL: starts the run, and sends the signal once it has computed.
stop() {
  "$SPDNN" "${run_args[@]}" --categories out.tsv 2>err 3>&- &
  local process=$!
  within 600 computed $process
  kill -s "$1" "$process"
  wait "$process"
}

@test "a run that SIGUSR1 and then SIGTERM stop continues to the same categories" {
  run stop USR1
  [ "$status" -eq 5 ]
  [ "$(cat err)" = "spdnn: stopped; the same command continues the run from run.checkpoint" ]
  [ ! -e out.tsv ]
  [ -s run.checkpoint ]
  run stop TERM
  [ "$status" -eq 5 ]
  "$SPDNN" "${run_args[@]}" --categories out.tsv --json run.json >text
  grep -q '^parts  *3: stopped and continued' text
  jq -e '.parts == 3 and .seconds.infer.sum >= .seconds.infer.min and .seconds.total > .seconds.infer.sum' run.json
  cmp out.tsv expected.tsv
  [ -z "$(ls run.checkpoint* 2>/dev/null)" ]
}

@test "a file that is no checkpoint is refused, and stays" {
  echo "my notes" >run.checkpoint
  run "$SPDNN" "${run_args[@]}"
  rm -f saved && mv run.checkpoint saved
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: run.checkpoint: is not a checkpoint; expected one line of JSON"* ]]
  [ "$(cat saved)" = "my notes" ]
  echo '{"schema":"spdnn-checkpoint-2"}' >run.checkpoint
  run "$SPDNN" "${run_args[@]}"
  rm run.checkpoint
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: run.checkpoint: was written by another version of spdnn, as spdnn-checkpoint-2; expected"* ]]
}

@test "a checkpoint that cannot be written is refused before the run" {
  run "$SPDNN" "${run_args[@]:0:15}" --checkpoint no-such-directory/run.checkpoint
  [ "$status" -eq 3 ]
  [[ "$output" == *"no-such-directory"* ]]
}

@test "a run that is killed continues from its last checkpoint, and the report says what was lost" {
  rm -f out.tsv
  "$SPDNN" "${run_args[@]}" --checkpoint-every 0.1s --categories out.tsv 2>err 3>&- &
  process=$!
  within 600 eval 'computed $process && [ -s run.checkpoint ]'
  kill -9 "$process"
  code=0
  wait "$process" || code=$?
  [ "$code" -eq 137 ]
  [ ! -e out.tsv ]
  jq -e '.next_within >= .costs.every and .costs.every >= 0.1 and .parts == 1' run.checkpoint
  "$SPDNN" "${run_args[@]}" --categories out.tsv --json run.json >text
  grep -q '^lost  *1 part ended without a stop; at most ' text
  jq -e '.parts == 2 and .checkpoints.lost_parts == 1 and .checkpoints.lost_seconds > 0 and .checkpoints.every == 900
    and (.seconds | .other >= 0)' run.json
  cmp out.tsv expected.tsv
  [ -z "$(ls -A | grep -e checkpoint -e '^\.')" ]
}

@test "checkpoints cost a phase of their own, which the report shows" {
  run_args=("${run_args[@]/240/120}")
  "$SPDNN" "${run_args[@]}" --checkpoint-every 0.1s --json run.json >text
  grep -qE '^checkpoints +[0-9]+ written during the run, every [0-9.]+ s: [0-9.]+ [kM]?B(ytes)?, [0-9.e-]+ % of infer$' text
  grep -qE '^checkpoint +[0-9.]+ s  during the run$' text
  jq -e '.checkpoints.written > 0 and .checkpoints.bytes > 100 and .seconds.checkpoint > 0 and .parts == 1
    and ((.checkpoints.share_of_infer - .seconds.checkpoint / .seconds.infer.sum) | fabs) < 1e-12' run.json
  "$SPDNN" "${run_args[@]}" --checkpoint-every never --json run.json >text
  jq -e '.checkpoints == {every: null, written: 0, bytes: 0, share_of_infer: 0, lost_parts: 0, lost_seconds: 0}' run.json
  run grep '^checkpoint' text
  [ "$status" -eq 1 ]
}

@test "a run whose --max-time is up stops at a checkpoint, exit code 5, and continues" {
  run "$SPDNN" "${run_args[@]}" --max-time 0.3s --categories out.tsv
  [ "$status" -eq 5 ]
  [[ "$output" =~ ^'spdnn: stopped '[0-9.]+' s before its time is up: a checkpoint takes '[0-9.]+' s, and the interval between two checks of the clock up to '[0-9.]+' s; the same command continues the run from run.checkpoint'$ ]]
  "$SPDNN" "${run_args[@]}" --max-time 4h --json run.json >text
  jq -e '.parts >= 2 and .checkpoints.lost_parts == 0' run.json
}

@test "times of checkpoints need a checkpoint, and are times" {
  without=("${run_args[@]:0:15}")
  for case in '--max-time 4h|--max-time: needs a checkpoint to stop at' '--checkpoint-every 5m|--checkpoint-every needs --checkpoint' \
    "--checkpoint-every 0s --checkpoint c|--checkpoint-every: '0s' is not a time above 0, such as 30s, 15m or 4h" \
    "--max-time never --checkpoint c|--max-time: 'never' is not a time above 0, such as 30s, 15m or 4h"; do
    read -ra options <<<"${case%|*}"
    run "$SPDNN" "${without[@]}" "${options[@]}"
    [ "$status" -eq 2 ]
    [ "$output" = "spdnn: ${case#*|}" ]
  done
}

teardown() {
  if mountpoint -q small; then umount small; fi
}

@test "a disk that is full at the first stop is reported, exit code 3; one that has room for the line is not enough" {
  rm -f out.tsv
  mkdir small
  for size in 4k 64k; do
    mount -t tmpfs -o "size=$size" none small || skip "mounting is not allowed here: full disks are untested"
    run_args=("${run_args[@]:0:15}" --checkpoint small/run.checkpoint)
    run stop USR1
    cat err
    [ "$status" -eq 3 ]
    [[ "$(cat err)" == "spdnn: small/run.checkpoint"*": cannot write: No space left on device; the run has stopped, and its work is lost" ]]
    [ -z "$(ls -A small)" ]
    [ ! -e out.tsv ]
    umount small
  done
}

@test "a disk that is full while the run goes on is a warning and a note; the checkpoint of before stays" {
  mkdir -p small
  mount -t tmpfs -o size=4k none small || skip "mounting is not allowed here: full disks are untested"
  "$SPDNN" "${run_args[@]:0:6}" 120 "${run_args[@]:7:8}" --checkpoint small/run.checkpoint --checkpoint-every 0.1s --categories out.tsv --json run.json 2>err
  [ "$(wc -l <err)" -eq 1 ]
  [[ "$(cat err)" == "spdnn: small/run.checkpoint"*": cannot write: No space left on device; the run goes on" ]]
  jq -e '.checkpoints.written == 0 and ([.notes[] | select(test("could not be written: small/run.checkpoint"))] | length) == 1' run.json
  [ -s out.tsv ]
  [ -z "$(ls -A small)" ]
  umount small
}

@test "a checkpoint cannot go to stdout" {
  run "$SPDNN" "${run_args[@]:0:15}" --checkpoint -
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --checkpoint: a checkpoint cannot go to stdout; expected a file" ]
  [ ! -e ./- ]
}

@test "SIGUSR1 ends a run that has no checkpoint" {
  "$SPDNN" "${run_args[@]:0:15}" 2>err 3>&- &
  process=$!
  within 600 computed $process
  kill -s USR1 "$process"
  run wait "$process"
  [ "$status" -ne 5 ]
  [ "$status" -ne 0 ]
}
