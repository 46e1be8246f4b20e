#!/usr/bin/env bats
# The effects of options, seen in the report, in the threads that run, and in stored plans that are not used.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  # Two layers of four neurons that keep their inputs, and ten images of one pixel each, of which the last has none.
  mkdir net
  for layer in 1 2; do for i in 1 2 3 4; do printf '%d\t%d\t1\n' $i $i; done >net/n4-l$layer.tsv; done
  for i in 1 2 3 4 5 6 7 8 9; do printf '%d\t%d\t1\n' $i $((i % 4 + 1)); done >images.tsv
  problem=(--inputs images.tsv --images 10 --progress never)
  infer=("$SPDNN" infer --network net --bias -0.25 "${problem[@]}")
}

# field JQ: prints a field of the report.
field() { jq -c "$1" run.json; }

@test "--threads: the number of threads that run, and that of the report" {
  local in_crew
  for threads in 3 5; do
    run_it=("${infer[@]}" --variant cpu_openmp --threads $threads)
    "${run_it[@]}" --json run.json >run.txt
    [ "$(field .machine.threads)" = $threads ]
    grep -q "$threads threads" run.txt
    "${run_it[@]}" --trials 1000000 >run.txt 2>&1 3>&- &
    for _ in {1..200}; do
      in_crew=$(cat /proc/$!/task/*/comm 2>/dev/null | grep -cx 'spdnn crew') || true
      [ "$in_crew" -ne $((threads - 1)) ] || break # the first thread leads them
      sleep 0.05
    done
    kill $! || true
    wait $! || true
    [ "$in_crew" -eq $((threads - 1)) ]
  done
}

@test "--batch: images at a time, in the report too" {
  for batch in 1 4 10; do
    "${infer[@]}" --batch $batch --json run.json --categories out-$batch.tsv >/dev/null
    [ "$(field .batch)" = $batch ]
    [ "$(cat out-$batch.tsv)" = "$(seq 9)" ]
  done
}

@test "--warm-up: trials before those that count, in a phase of their own" {
  for warm_up in 0 3; do
    "${infer[@]}" --trials 2 --warm-up $warm_up --json run.json >run.txt
    [ "$(field '[.warm_up, .trials]')" = "[$warm_up,2]" ]
    jq -e '(.seconds.warm_up > 0) == (.warm_up > 0)' run.json
  done
  grep -qE '^warm-up +[0-9.]+ s  uncounted trials$' run.txt
  run "${infer[@]}" --warm-up 1 --checkpoint at
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --checkpoint: a run that may be stopped has no trials to warm up" ]]
  run "${infer[@]}" --warm-up -1
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --warm-up: '-1' is not 0 or a positive whole number" ]
  run "${infer[@]}" --warm-up 2147483648
  [ "$output" = "spdnn: --warm-up: 2147483648 is outside 0..2147483647" ]
}

@test "--precision, --cap, --bias-rule and --images change what is run" {
  "${infer[@]}" --variant cpu_openmp --precision fp64 --cap 0.5 --json run.json >/dev/null
  [ "$(field '[.precision, .problem.cap, .problem.images]')" = '["fp64",0.5,10]' ]
  "${infer[@]}" --cap none --json run.json >/dev/null
  [ "$(field '[.precision, .problem.cap]')" = '["fp32",null]' ]
  "$SPDNN" infer --network net --bias 0.5 --inputs images.tsv --images 12 --bias-rule everywhere --categories out.tsv >/dev/null
  [ "$(cat out.tsv)" = "$(seq 12)" ] # a bias everywhere revives the dark images too
  for bad in "--batch 3x" "--trials 2.5" "--threads 4-"; do
    # shellcheck disable=SC2086  # words are meant
    run "${infer[@]}" $bad
    [ "$status" -eq 2 ]
    [[ "$output" == *"${bad%% *}: '${bad##* }' is not"* ]]
  done
}

@test "inspect names the layers from which on images may leave" {
  mkdir chain # the second layer of three does not keep rows at the cap
  for layer in 1 2 3; do printf '1\t1\t%d\n' $((layer == 2 ? 1 : 2)) >chain/n1-l$layer.tsv; done
  run "$SPDNN" inspect chain --bias -0.5
  [ "$status" -eq 0 ]
  grep -q '^dead images leave *from the rows entering layer 1 on$' <<<"$output"
  grep -q '^saturated images leave *from the rows entering layer 3 on$' <<<"$output"
}

@test "--trials: the number of measured times" {
  "${infer[@]}" --trials 3 --json run.json >run.txt
  [ "$(field .trials)" = 3 ]
  grep -q '^infer .* median of 3 ' run.txt
}

@test "--verify K recomputes K images, however many of them are categories" {
  for sample in 1 2 5 8 9; do
    run "${infer[@]}" --verify $sample
    [ "$status" -eq 0 ]
    [[ "$output" == *"cpu_reference on $sample of 10 images"* ]]
  done
}

@test "a stored plan is run only where nothing else is asked for" {
  "$SPDNN" convert net plan.spdnn --bias -0.25 --plan all
  stored=("$SPDNN" infer --network plan.spdnn "${problem[@]}" --json run.json)
  "${stored[@]}" >/dev/null
  all=$(field .passes)
  for reduce in none dead identical; do
    "${stored[@]}" --reduce $reduce >/dev/null
    [ "$(field .passes)" = "\"$reduce\"" ]
    [ "$(field .passes)" != "$all" ]
  done
  "${stored[@]}" --layers 1 >/dev/null
  [ "$(field .problem.layers)" = 1 ]
  for option in "--bias -0.5" "--bias-rule everywhere" "--cap 2"; do
    # shellcheck disable=SC2086  # words are meant
    run "${stored[@]}" $option
    [ "$status" -eq 2 ]
    [[ "$output" == *"${option%% *}: plan.spdnn has its own"* ]]
  done
  run "${stored[@]}" --neurons 5
  [ "$status" -eq 3 ]
}

@test "memory that cannot be had is exit code 4" {
  run bash -c "ulimit -v 3000000; '$SPDNN' generate network --family random --neurons 40000000 --layers 1 --degree 64 --out net.spdnn"
  [ "$status" -eq 4 ]
  [[ "${#lines[@]}" -eq 1 && "$output" == spdnn:*memory* ]]
  [ ! -e net.spdnn ]
}

@test "the official network on other images than the official ones is unverified" {
  "$SPDNN" generate inputs --family digits --neurons 1024 --out digits.spdnn
  run "$SPDNN" infer --generate official --neurons 1024 --layers 120 --inputs digits.spdnn --progress never
  [ "$status" -eq 0 ]
  [[ "$output" == *"60000 images"*UNVERIFIED* ]]
}
