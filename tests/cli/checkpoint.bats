#!/usr/bin/env bats
# Runs that are stopped by a signal and continued from their checkpoint.

setup_file() {
  cd "$BATS_FILE_TMPDIR" || return 1
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 5000 --out images.spdnn --progress never
}

setup() {
  cd "$BATS_FILE_TMPDIR" || return 1
  run_args=(infer --generate official --neurons 1024 --layers 1920 --inputs images.spdnn --device cpu --reduce none
    --threads 1 --progress never --checkpoint run.checkpoint)
}

# stop SIGNAL: starts the run, and sends the signal once the run can be expected to be between its layers: when it has
# computed for a second.
stop() {
  "$SPDNN" "${run_args[@]}" --categories out.tsv 2>err 3>&- &
  local process=$!
  until [ "$(cut -d' ' -f14 "/proc/$process/stat")" -ge "$(getconf CLK_TCK)" ]; do sleep 0.05; done
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
  "$SPDNN" infer --generate official --neurons 1024 --layers 1920 --inputs images.spdnn --device cpu --progress never \
    --categories planned.tsv
  cmp out.tsv planned.tsv
  [ -z "$(ls run.checkpoint* 2>/dev/null)" ]
}

@test "a file that is no checkpoint is refused, and stays" {
  echo "my notes" >run.checkpoint
  run "$SPDNN" "${run_args[@]}"
  rm -f saved && mv run.checkpoint saved
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: run.checkpoint: is no checkpoint; expected one line of JSON"* ]]
  [ "$(cat saved)" = "my notes" ]
}

@test "a checkpoint that cannot be written is refused before the run" {
  run "$SPDNN" "${run_args[@]:0:15}" --checkpoint no-such-directory/run.checkpoint
  [ "$status" -eq 3 ]
  [[ "$output" == *"no-such-directory"* ]]
}

teardown() {
  if mountpoint -q small; then umount small; fi
}

@test "a disk that is full at the first stop is told, exit code 3; one that has room for the line is not enough" {
  rm -f out.tsv
  mkdir small
  for size in 4k 64k; do
    mount -t tmpfs -o "size=$size" none small || skip "mounting is not allowed here: full disks are untested"
    run_args=("${run_args[@]:0:15}" --checkpoint small/run.checkpoint)
    run stop USR1
    cat err
    [ "$status" -eq 3 ]
    [[ "$(cat err)" == "spdnn: small/run.checkpoint"*": cannot write: No space left on device; the run has stopped, and nothing of it is kept" ]]
    [ -z "$(ls -A small)" ]
    [ ! -e out.tsv ]
    umount small
  done
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
  sleep 0.5
  kill -s USR1 "$process"
  run wait "$process"
  [ "$status" -ne 5 ]
  [ "$status" -ne 0 ]
}
