#!/usr/bin/env bats
# spdnn bench suite on small problems. A launcher of the tests' own stands between the suite and its runs: it writes down
# what runs, and can make a run last, fail or come out wrong.

load ../support/within

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  cat >launch <<'END'
#!/bin/bash
echo "$*" >>calls
case " $* " in *" --layers $SLOW_LAYERS "*) exec sleep 6000 ;; esac
[ "$(wc -l <calls)" != "$SLOW_CALL" ] || exec sleep 6000
if [ -n "$FAIL_WITH" ]; then echo 'spdnn: something is missing' >&2; exit "$FAIL_WITH"; fi
if [ -n "$FRAME" ]; then printf -- '-----\nThere are not enough\nslots.\n\n  Sorry.\n-----\n' >&2; exit 213; fi
[ "$(wc -l <calls)" != "$TEAR" ] || truncate -s 100 scratch/images*
"$@" || exit
[ -z "$FALSIFY" ] || { sed -i 's/"status":"[A-Z]*"/"status":"FAILED"/' "${@: -3:1}"; exit 1; }
[ -z "$LINE" ] || cp "$LINE" "${@: -3:1}"
END
  chmod +x launch
  unset SLOW_LAYERS SLOW_CALL FAIL_WITH FALSIFY LINE FRAME TEAR
  bare=("$SPDNN" bench suite --neurons 1024 --images 100 --trials 1 --device cpu --verify 1)
  suite=("${bare[@]}" --ranks 1 --launcher ./launch --scratch scratch --json suite.jsonl)
}

# ran: layers, passes and repetition of each line, in order.
ran() { jq -c '[.problem.layers, .suite.options.reduce, .suite.repetition]' suite.jsonl | tr '\n' ' '; }
# same NUMBERS NUMBERS: the numbers of two lists, equal to the last decimal of a table that shows four. The lines hold fewer
# digits than a time has, so a table and a test may round a time that ends in 5 to different sides.
same() {
  awk -v shown="$1" -v expected="$2" 'BEGIN {
    n = split(shown, s); if (n == 0 || n != split(expected, e)) exit 1
    for (i = 1; i <= n; ++i) { d = s[i] - e[i]; if (d < -0.000051 || d > 0.000051) exit 1 } }'
}
calls() { if [ -e calls ]; then wc -l <calls; else echo 0; fi; }
called() { [ "$(calls)" -ge "$1" ]; }

@test "every configuration runs once before one is repeated; the table has medians over the repetitions" {
  # On a terminal, it says how much is left.
  run script -qec "$(printf '%q ' "${suite[@]}" --layers 2,4 --reduce all --reduce dead --variant cpu_openmp --repetitions 2) >table" \
    progress </dev/null
  [ "$status" -eq 0 ]
  output=$(cat table)
  echo "$output"
  grep -qa '1024 x 4, dead, cpu_openmp, 1 of 2; runs left: 5, about [0-9]* s' progress
  [ "$(grep -aoE 'runs left: [0-9]+' progress | xargs)" = "$(printf 'runs left: %s\n' {8..1} | xargs)" ]
  one='[2,"all",N] [4,"all",N] [2,"dead",N] [4,"dead",N] '
  [ "$(ran)" = "${one//N/1}${one//N/2}" ]
  jq -se 'all(.schema == "spdnn-run-1" and .suite.repetitions == 2 and .warm_up == 1 and .trials == 1 and .problem.images == 100
    and .variant == "cpu_openmp" and .verdict.status == "UNVERIFIED" and .device_state == null)' suite.jsonl
  jq -se '[.[] | select(.suite.options == {neurons: 1024, layers: 4, reduce: "dead", variant: "cpu_openmp", images: 100,
    official_images: false, trials: 1, warm_up: 1, device: "cpu", precision: null, threads: null, ranks: 1,
    launcher: "./launch", verify: 1})] | length == 2' suite.jsonl
  expected=$(jq -sr '[.[] | select(.problem.layers == 4 and .passes == "dead") | .seconds.infer.median * 1000] | sort
    | "\((.[0] + .[1]) / 2) \(.[0]) \(.[1])"' suite.jsonl)
  shown=$(awk '$1 == 1024 && $2 == 4 && $3 == "dead" { print $6, $7, $8, $NF }' <<<"$output")
  [[ "$shown" == *' UNVERIFIED' ]]
  same "${shown% *}" "$expected"
  [ "$(ls -A)" = $'calls\nlaunch\nprogress\nscratch\nsuite.jsonl\ntable' ]
  [ "$(ls -A scratch)" = images-1024-digits-100.spdnn ]
}

@test "columns are those of the report: the extremes are of all trials" {
  run "$SPDNN" bench suite --neurons 1024 --layers 2 --images 100 --trials 5 --repetitions 3 --device cpu --json suite.jsonl
  echo "$output"
  [ "$status" -eq 0 ]
  expected=$(jq -sr 'map(.seconds.infer | map_values(. * 1000))
    | "\(map(.median) | sort | .[1]) \(map(.min) | min) \(map(.max) | max)"' suite.jsonl)
  shown=$(awk '$1 == 1024 && $2 == 2 && NF > 10 { print $6, $7, $8 }' <<<"$output")
  same "$shown" "$expected"
  report=$("$SPDNN" report suite.jsonl)
  for column in neurons layers passes variant runs 'infer (ms)' min max 'rate (' computed 'with set-up' 'end to end' verdict; do
    [[ "$(grep '^neurons' <<<"$output") " == *"$column"* ]]
    [[ "$report" == *"| $column"* || "$report" =~ \|\ +"$column" ]]
  done
}

@test "without a scratch directory or a file of lines nothing is left; lines may go to stdout" {
  output=$("${bare[@]}" --layers 2 --repetitions 1 2>stderr)
  [ ! -s stderr ] # progress is for terminals
  [[ "$output" == *"1024 x 2, all, auto, 1 of 1: infer "*UNVERIFIED* ]]
  output=$("${bare[@]}" --layers 2 --repetitions 2 --json - 2>stderr)
  [ "$(jq -sc 'map(.suite.repetition)' <<<"$output")" = '[1,2]' ]
  grep -q '^neurons layers' stderr
  [ "$(ls -A)" = $'launch\nstderr' ]
}

@test "a suite that is killed or ended is resumed where it stopped, and its run does not outlive it" {
  for signal in KILL TERM; do
    rm -rf suite.jsonl calls
    export SLOW_CALL=3
    "${suite[@]}" --layers 2,4 --repetitions 2 >out 2>&1 3>&- &
    suite_process=$!
    within 600 called 3
    kill -s $signal $suite_process
    wait $suite_process || status=$?
    [ "$status" -gt 128 ]
    [ "$(ran)" = '[2,"all",1] [4,"all",1] ' ]
    [ "$signal" = KILL ] || [ "$(ls -A scratch)" = images-1024-digits-100.spdnn ]
    SLOW_CALL=0
    run "${suite[@]}" --layers 2,4 --repetitions 2
    echo "$output"
    [ "$status" -eq 0 ]
    [ "$(grep -c ' 1 of 2: already in suite.jsonl$' <<<"$output")" -eq 2 ]
    [ "$(ran)" = '[2,"all",1] [4,"all",1] [2,"all",2] [4,"all",2] ' ]
    [ "$(calls)" -eq 6 ] # the first two, the one that was killed, one that asks for the machine, the other two
    [ "$(ls -A scratch)" = images-1024-digits-100.spdnn ]
  done
}

@test "a line of another program, other options or another machine stands for nothing here" {
  "${suite[@]}" --layers 2 --repetitions 1
  cp suite.jsonl own.jsonl
  for change in '.build.commit = "0123456789ab"' '.build.dirty |= not' '.machine.host = "elsewhere"' '.machine.threads += 1' \
    '.suite.options.trials = 2' '.suite.options.verify = 2' 'del(.suite.options.verify)' '.suite.options.reduce = "none"' '.suite.repetition = 2' '.suite = null'; do
    jq -c "$change" own.jsonl >suite.jsonl
    run "${suite[@]}" --layers 2 --repetitions 1
    [ "$status" -eq 0 ]
    echo "$change: $output"
    [[ "$output" != *"already in"* ]]
    [ "$(wc -l <suite.jsonl)" -eq 2 ]
  done
  jq -c '.machine.device = null | .suite.repetitions = 7' own.jsonl >suite.jsonl
  run "${suite[@]}" --layers 2 --repetitions 1
  [[ "$output" == *"already in"* ]]
  cmp <(jq -c . suite.jsonl) <(jq -c '.suite.repetitions = 7' own.jsonl)
}

@test "a torn or foreign line is refused by its number, and the file stays as it is" {
  "${suite[@]}" --layers 2 --repetitions 1
  good=$(cat suite.jsonl)
  refuse() {
    printf '%s' "$1" >suite.jsonl
    cp suite.jsonl before
    run "${suite[@]}" --layers 2,4 --repetitions 1
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: suite.jsonl:$2"* && "$output" != *$'\n'* ]]
    cmp suite.jsonl before
    [ "$(calls)" -eq 1 ]
  }
  refuse "$good"$'\n'"${good:0:700}" '2:701: the line has no end'
  refuse "${good:0:700}"$'\n'"$good"$'\n' '1:701: not JSON: '
  refuse "$good"$'\n\n' '2:1: not JSON: '
  refuse $'[1]\n' '1:1: [1], expected an object'
  refuse "$(jq -c 'del(.seconds.infer.median)' <<<"$good")"$'\n' '1:' # and the column
  [[ "$output" =~ ^spdnn:\ suite.jsonl:1:[0-9]{3,}:\ seconds.infer\ is\ .*,\ expected\ numbers ]]
  refuse "$(jq -c '.machine = "some"' <<<"$good")"$'\n' '1:'
  [[ "$output" =~ ^spdnn:\ suite.jsonl:1:[0-9]{3,}:\ machine\ is\ \"some\",\ expected\ an\ object$ ]]
  refuse "$(jq -c '.rate = 1e308' <<<"$good")"$'\n' '1:'
  refuse "$(jq -c 'del(.rate_computed)' <<<"$good")"$'\n' '1:'
  refuse "$good"$'\n'"{\"a\":$(printf '%3000000s' '' | tr ' ' '[')"$'\n' '2:69: nested too deeply, expected at most 64 levels'
  printf '{"schema":"spdnn-layers-1"}\n%s\n' "$(jq -c '.suite = null | del(.rate)' <<<"$good")" >suite.jsonl
  "${suite[@]}" --layers 2 --repetitions 1
  [ "$(wc -l <suite.jsonl)" -eq 3 ]
}

@test "a second suite on the same file is refused at once; a suite that was killed locks nothing" {
  export SLOW_CALL=1
  ln -s suite.jsonl link
  "${suite[@]}" --layers 2 --repetitions 1 >out 2>&1 3>&- &
  suite_process=$!
  within 600 called 1
  for name in suite.jsonl link ./scratch/../suite.jsonl; do
    run "${bare[@]}" --layers 2 --repetitions 1 --json $name
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: $name: another suite appends to this file, expected to be the only one" ]
  done
  run "${bare[@]}" --layers 2 --repetitions 1 --json other.jsonl
  [ "$status" -eq 0 ]
  kill -s KILL $suite_process
  wait $suite_process || true
  [ ! -e suite.jsonl ]
  "${suite[@]}" --layers 2 --repetitions 1
  [ "$(ran)" = '[2,"all",1] ' ]
  [ "$(ls -A)" = $'calls\nlaunch\nlink\nother.jsonl\nout\nscratch\nsuite.jsonl' ]
}

@test "what others write to the file while a suite runs stays, whole or torn" {
  printf '{"old":1}\n' >suite.jsonl
  cat >meddle <<'END'
#!/bin/bash
bash -c "$MEDDLE"
exec ./launch "$@"
END
  chmod +x meddle
  meddled=("${bare[@]}" --ranks 1 --launcher ./meddle --layers 2 --repetitions 1 --json suite.jsonl)
  MEDDLE='echo "{\"new\":1}" >>suite.jsonl' "${meddled[@]}"
  [ "$(head -2 suite.jsonl)" = $'{"old":1}\n{"new":1}' ]
  [ "$(wc -l <suite.jsonl)" -eq 3 ]
  refuse() {
    printf '{"old":1}\n{"old":2}\n' >suite.jsonl
    MEDDLE=$1 run "${meddled[@]}"
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: suite.jsonl: another program $2 while the suite ran, so the line of the last run is not added" ]
    [ "$(cat suite.jsonl)" = "$3" ]
  }
  refuse 'printf "{\"torn\"" >>suite.jsonl' 'wrote an unfinished line' $'{"old":1}\n{"old":2}\n{"torn"'
  refuse 'sed -i 1d suite.jsonl' 'changed or removed lines' '{"old":2}'
  refuse ': >suite.jsonl' 'changed or removed lines' ''
}

@test "a launcher that leaves something else than the line of a run is named" {
  { printf '{"variant": ' && printf '%1000000s' '' | tr ' ' '[' && printf '%1000000s' '' | tr ' ' ']' && echo '}'; } >deep
  echo '{"variant": "auto"}' >short
  for expected in 'deep: nested too deeply' 'short: no field seconds.infer'; do
    export LINE=$PWD/${expected%%:*}
    run "${suite[@]}" --layers 2 --repetitions 1
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "${lines[-1]}" == "spdnn: scratch/"*"/run.json:1:"*"${expected#*: }"* ]]
    [ ! -s suite.jsonl ]
  done
}

@test "--limit: a longer run is ended, and neither repeated nor tried with more layers, but with other passes and engines" {
  export SLOW_LAYERS='4 --inputs scratch/images-1024-digits-100.spdnn --reduce all --variant cpu_openmp'
  run "${suite[@]}" --layers 2,4,6 --reduce all --reduce dead --variant cpu_openmp,auto --repetitions 2 --limit 15
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(jq -c 'select(.suite.options.reduce == "all" and .suite.options.variant == "cpu_openmp") | [.problem.layers, .suite.repetition]' \
    suite.jsonl | xargs)" = '[2,1] [2,2]' ]
  [ "$(wc -l <suite.jsonl)" -eq $((2 + 2 * 3 * 3)) ]
  [ "$(calls)" -eq $((3 + 2 * 3 * 3)) ]
  [[ "$output" == *"not run: 1024 x 4, all, cpu_openmp, 2 of 2 repetitions: more than the limit of 15 s"* ]]
  [[ "$output" == *"not run: 1024 x 6, all, cpu_openmp, 2 of 2 repetitions: deeper than a network that took more than the limit of 15 s"* ]]
}

@test "--budget: no run begins once it is used up" {
  run "${suite[@]}" --layers 2,4 --repetitions 2 --budget 1e-9
  echo "$output"
  [ "$status" -eq 0 ]
  [ ! -e calls ]
  [ ! -e suite.jsonl ]
  [[ "$output" == *"not run: 1024 x 2, all, auto, 2 of 2 repetitions: the budget of 1e-09 s was used up"* ]]
}

@test "--dry-run prints the commands, runs none and writes nothing" {
  run "${suite[@]}" --layers 2,4 --repetitions 2 --dry-run --precision fp64 --threads 3
  echo "$output"
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 4 ]
  [[ "${lines[1]}" == "./launch "*"spdnn infer --generate official --neurons 1024 --layers 4 --inputs scratch/images-1024-digits-100.spdnn \
--reduce all --variant auto --trials 1 --warm-up 1 --device cpu --precision fp64 --threads 3 --verify 1 --device-state --json "* ]]
  [ "$(ls -A)" = launch ]
  # Printed commands may be pasted into a shell.
  run "${bare[@]}" --layers 2 --repetitions 1 --dry-run --scratch "it's \$HOME; here"
  eval "words=($output)"
  [ "${words[9]}" = "it's \$HOME; here/images-1024-digits-100.spdnn" ]
  "${suite[@]}" --layers 2 --repetitions 1
  run "${suite[@]}" --layers 2,4 --repetitions 1 --dry-run
  [ "${#lines[@]}" -eq 2 ]
  [ "${lines[0]}" = "1024 x 2, all, auto, 1 of 1: already in suite.jsonl" ]
  [ "$(calls)" -eq 1 ]
}

@test "--dry-run: the twelve official configurations, with the official images" {
  printf x >mnist
  run "$SPDNN" bench suite --dry-run --mnist mnist --repetitions 1
  [ "$status" -eq 0 ]
  [ "${#lines[@]}" -eq 12 ]
  [[ "${lines[11]}" == *"--neurons 65536 --layers 1920 --inputs images-65536-official.spdnn "* ]]
  [[ "$output" != *--verify* ]] # as their categories are known
  run "$SPDNN" bench suite --dry-run --mnist mnist --repetitions 1 --neurons 1024 --layers 12
  [[ "$output" == *"--verify 64"* ]]
}

@test "images that are kept are taken only if they are what their name says" {
  mkdir scratch
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 50 --out scratch/images-1024-digits-100.spdnn
  for damage in no yes; do
    [ $damage = no ] || truncate -s -8 scratch/images-1024-digits-100.spdnn
    rm -f suite.jsonl
    run "${suite[@]}" --layers 2 --repetitions 1
    echo "$output"
    [ "$status" -eq 0 ]
    jq -e '.problem.images == 100' suite.jsonl
  done
}

@test "--mnist: the file is there, and gives the official images, whatever is kept" {
  refuse() {
    run "$SPDNN" bench suite --mnist "$1" --neurons 1024 --layers 2 --device cpu --trials 1 --repetitions 1 \
      --scratch scratch --json suite.jsonl "${@:3}"
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: $1: $2"* && "$output" != *$'\n'* ]]
    [ ! -e suite.jsonl ]
  }
  mkdir scratch
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 500 --out scratch/images-1024-official.spdnn
  refuse none 'cannot read: No such file'
  refuse none 'cannot read: No such file' --dry-run
  echo nonsense >mnist
  refuse mnist 'ends within the IDX header'
  { printf '\0\0\010\003\0\0\352\140\0\0\0\034\0\0\0\034' && head -c $((60000 * 784)) /dev/zero; } | gzip -1 >mnist
  refuse mnist "the official images are not made from these, expected MNIST's training images"
}

@test "wrong categories are kept, and end in exit code 1, resumed or not" {
  export FALSIFY=yes
  run "${suite[@]}" --layers 2 --repetitions 2
  echo "$output"
  [ "$status" -eq 1 ]
  [ "$(jq -sc 'map(.verdict.status)' suite.jsonl)" = '["FAILED","FAILED"]' ]
  [[ "${lines[-1]}" == *FAILED ]]
  FALSIFY=
  run "${suite[@]}" --layers 2 --repetitions 2
  [ "$status" -eq 1 ]
}

@test "configurations that an engine does not take are left out; a failed one does not keep the others from running" {
  run "${bare[@]}" --layers 2 --repetitions 2 --precision fp32 --variant cpu_openmp,cpu_reference
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"not run: 1024 x 2, all, cpu_reference, 2 of 2 repetitions: not supported: "* ]]
  run "${bare[@]}" --layers 2 --precision fp32 --variant cpu_reference
  [ "$status" -eq 2 ]
  [[ "${lines[-1]}" == "spdnn: no configuration could be run; see the table for reasons" ]]
  FAIL_WITH=3 run "${suite[@]}" --layers 2,4 --repetitions 2
  echo "$output"
  [ "$status" -eq 3 ]
  [ "$(calls)" -eq 2 ]
  [ ! -e suite.jsonl ]
  why='failed with exit code 3: something is missing'
  [[ "$output" == *"not run: 1024 x 4, all, auto, 2 of 2 repetitions: $why"* ]]
  [ "${lines[-1]}" = "spdnn: some runs failed, as the table shows; the first: 1024 x 2, all, auto, 1 of 2: $why" ]
  FRAME=yes run "${suite[@]}" --layers 2 --repetitions 1
  [ "$status" -eq 4 ]
  [[ "${lines[-1]}" == *": failed with exit code 213: There are not enough slots. Sorry." ]]
}

@test "images that are torn while the suite runs are named, and made again for the next run" {
  TEAR=1 run "${suite[@]}" --layers 2,4 --repetitions 1
  echo "$output"
  [ "$status" -eq 3 ]
  [[ "${lines[-1]}" == "spdnn: some runs failed"*"1024 x 2, all, auto, 1 of 1: failed with exit code 3: scratch/images-1024-digits-100.spdnn: "* ]]
  [ "$(ran)" = '[4,"all",1] ' ]
}

@test "places that cannot be written are named as they were given" {
  run "${bare[@]}" --layers 2 --scratch launch
  [ "$status" -eq 3 ]
  [ "$output" = "spdnn: launch: cannot write: Not a directory" ]
  run "$SPDNN" bench scaling --layers 2 --ranks 1 --scratch launch/er
  [ "$status" -eq 3 ]
  [[ "${lines[-1]}" == "spdnn: launch/er: cannot write: Not a directory" ]]
  (
    ulimit -f 2
    run "${bare[@]}" --layers 2
    echo "$output"
    [ "$status" -eq 3 ]
    [ "$output" = "spdnn: suite/images-1024-digits-100.spdnn: cannot write: File too large" ]
  )
}

@test "options that are wrong are refused before anything runs" {
  refuse() {
    run "${suite[@]}" "$@"
    echo "$output"
    [ "$status" -eq 2 ]
    [[ "$output" == "spdnn: $message"* && "$output" != *$'\n'* ]]
    [ "$(ls -A)" = launch ]
  }
  message='--variant: ' refuse --variant sideways || message="'sideways'" refuse --variant sideways
  message='--reduce: ' refuse --reduce sideways
  message='--layers: ' refuse --layers 0
  message='--layers: 2 is given twice' refuse --layers 2,4,2
  message='--reduce: all is given twice' refuse --reduce all --reduce all
  message='--variant: auto is given twice' refuse --variant auto,auto
  message='--repetitions: ' refuse --repetitions 0
  message='--limit: -1 is not positive' refuse --limit -1
  message='--budget: ' refuse --budget much
  message='--precision: ' refuse --precision fp8
  message="option '--device' cannot" refuse --device tpu
  message='--threads: ' refuse --threads many
  message='--warm-up: ' refuse --warm-up -1
  message='--images cannot be used with --mnist' refuse --mnist mnist
  run "${bare[@]}" --launcher ./launch
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --launcher needs --ranks" ]]
  run "$SPDNN" bench suite --neurons 1024,1024
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --neurons: 1024 is given twice" ]]
  run "$SPDNN" bench suite --neurons 1000
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --neurons: 1000 is not one of 1024, 4096, 16384, 65536" ]]
}

@test "lines that cannot be written are an error, and earlier ones stay" {
  mkdir folder
  for place in missing/suite.jsonl folder; do
    run "${bare[@]}" --layers 2 --repetitions 1 --json $place
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: $place: cannot "* && "$output" != *$'\n'* ]]
  done
  run "${bare[@]}" --layers 2 --repetitions 1 --json /dev/full
  [ "$status" -eq 3 ]
  [[ "$output" == *"/dev/full: cannot write: No space left on device"* ]]
  "${suite[@]}" --layers 2 --repetitions 1
  yes "$(jq -c '.suite = null' suite.jsonl)" | head -n 100 >more
  cat more >>suite.jsonl
  cp suite.jsonl before
  [ "$(stat -c %s before)" -gt 100000 ]
  (
    ulimit -f 100
    run "${suite[@]}" --layers 4 --repetitions 1
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == *"spdnn: suite.jsonl: cannot write: File too large" ]]
  )
  cmp before suite.jsonl
}

@test "the official images come from MNIST, once for a size, and the official categories pass" {
  mnist=$("$BATS_TEST_DIRNAME/../../data_scripts/mnist.sh")
  [ -n "$mnist" ] || skip "needs MNIST's training images"
  mkdir scratch
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 500 --out scratch/images-1024-official.spdnn # others
  run "$SPDNN" bench suite --mnist "$mnist" --neurons 1024 --layers 120 --device cpu --trials 1 --repetitions 1 --scratch scratch \
    --json suite.jsonl
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "${lines[-1]}" == *PASSED ]]
  jq -e '.verdict.categories == 1812 and .suite.options.official_images' suite.jsonl
  [ "$(ls -A scratch)" = images-1024-official.spdnn ]
}
