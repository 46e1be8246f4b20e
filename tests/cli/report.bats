#!/usr/bin/env bats
# spdnn report: the content of tables, the agreement of all forms, and the treatment of invalid lines. The page is opened
# in a browser, the LaTeX is typeset and the CSV loaded where these programs are installed.

load ../support/result_lines
load ../support/sampled

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  export PYTHONDONTWRITEBYTECODE=1
}

# A few of everything: machines, builds, variants, ranks, layers, samples of the device, and text that is hostile to each
# form.
make_lines() {
  local hostile='</script><b>&amp;|`*_\\{}$#%^~\"quoted\", [x]\u0007=-- \u2028\u00e9'
  local with_setup='.rate_with_setup = (.problem.edges * 60000 / (0.375 + .seconds.infer.median))'
  {
    line 1024 120 cascade twins,dead 0.001 20 ".rate_computed = 9e12 | .computed_edges = 9e9 | $with_setup"
    line 1024 120 cascade twins,dead 0.002 20 ".computed_edges = 9e9 | $with_setup"
    line 1024 120 cusparse_spmm dead 0.1 5
    line 4096 480 cascade twins,dead 0.003 20 '.computed_edges = 7e9'
    line 4096 480 resident dead 0.7 5 ".machine.host = \"$hostile\" | .machine.cpu = \"$hostile\""
    line 1024 120 cascade twins,dead 0.0006 20 '.machine.ranks = 2'
    line 1024 480 cascade twins,dead 0.002 5 '.verdict.status = "UNVERIFIED"'
    line 1024 1920 cascade twins,dead 0.004 5 '.build.dirty = true'
    line 16384 120 cascade twins,dead 0.004 5 '.device_state = {sm_clock_mhz: {min: 1, median: 1980, max: 1985},
      memory_clock_mhz: {min: 1, median: 2, max: 3}, temperature_c: {min: 30, median: 31.5, max: 40},
      power_w: {min: 100, median: 612.25, max: 700}, joules_per_trial: 0.0125}'
    jq -nc '{schema: "spdnn-layers-1", variant: "resident", neurons: 1024, degree: 32, weights: "constant", layers: 8,
      images: 60000, trials: 5, seconds_per_layer: {min: 0.001, median: 0.002, max: 0.003}, edges_per_second: 983040000000,
      bytes: 491520000, ceiling_bytes_per_second: 4e12, share_of_ceiling: 0.06,
      machine: {cpu: "C", device: "D", threads: 1}, build: {version: "0", commit: "abc", dirty: false}}'
  } >"$1"
}

# Two runs of a small model, one of them verified and with a profile.
make_model_lines() {
  /usr/bin/python3 "$root/tests/support/toy_model.py" . 20
  local infer=("$SPDNN" infer --model model.safetensors --inputs images.npy --progress never)
  "${infer[@]}" --verify all --profile --json one.json >out
  "${infer[@]}" --json two.json >out
  cat one.json two.json >"$1"
}

make_reports() {
  local suffix
  for suffix in md csv tex html; do
    "$SPDNN" report "$@" --out "report.$suffix"
  done
}

# needs COMMAND...: skips where one is missing. On CI all are there, or the test fails.
needs() {
  local command
  for command in "$@"; do
    [ -n "${CI:-}" ] || command -v "$command" >/dev/null || [ -e "$command" ] || skip "needs $command: make deps"
  done
}

# squeezed FILE: without the spaces that align tables.
squeezed() { tr -s ' ' <"$1"; }

@test "all forms hold the same numbers" {
  make_lines lines.jsonl
  make_reports lines.jsonl --baseline cusparse_spmm --baseline "$root/results/baselines.csv"
  "$root/tests/report/forms_agree.py" report
  make_reports "$root/results/h200" --baseline cusparse_spmm
  "$root/tests/report/forms_agree.py" report
  sed -i -E '/^\|.* [0-9]+\.[0-9]+ /{s/ [0-9]+\.[0-9]+ / 12.345 /;:rest;n;brest}' report.md # the first number of a row
  run "$root/tests/report/forms_agree.py" report
  [ "$status" -eq 1 ]
}

@test "runs of one configuration, machine and build are one row: median of medians, least and greatest" {
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  cat report.md
  row='| 1024 | 120 | cascade | 1.500 | 157.3 | PASSED | D | 1 | twins,dead | -0.3 | 60000 | 3932160 | 1.000 | 2.000 | 6.000 | 0.6266 | 0.1180 | 1812 | 500.0 | 0.007864 | - | 20 | 2 | 1 |'
  [[ "$(squeezed report.md)" == *"$row"* ]]
  # On two ranks it is another configuration.
  [[ "$(squeezed report.md)" == *"| cascade | 0.6000 | 393.2 | PASSED | D | 2 | twins,dead |"* ]]
}

@test "other images, batches, streamed layers and runs made in parts are other configurations" {
  # rows LINES: of the first table, squeezed.
  rows() { "$SPDNN" report "$1" | sed -n '/^| neurons/,/^$/p;/^## Machines/q' | tail -n +3 | tr -s ' '; }
  line 1024 120 cascade dead 0.001 5 '.verdict.categories = 12' >lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.verdict.categories = 77' >>lines.jsonl
  line 1024 120 cascade dead 0.003 5 '.verdict.categories = 12 | .warm_up = 1 | .notes = ["a note"]' >>lines.jsonl
  line 1024 120 cascade dead 0.004 5 '.verdict.categories = 12 | .verdict.against = "cpu_reference"' >>lines.jsonl
  line 1024 120 cascade dead 0.005 5 '.verdict.categories = 12 | .streamed = {layers_at_once: 2, bytes_read: 9}' >>lines.jsonl
  line 1024 120 cascade dead 0.006 5 '.verdict.categories = 12 | .batch = 600' >>lines.jsonl
  line 1024 120 cascade dead 0.007 5 '.verdict.categories = 12 | .parts = 3' >>lines.jsonl
  rows lines.jsonl
  [ "$(rows lines.jsonl | grep -c .)" -eq 5 ]
  [[ "$(rows lines.jsonl)" == *"| cascade | 2.000 |"*"| 1.000 | 3.000 |"*"| 12 |"*"| - | 5 | 2 | 1 |"* ]]
  [[ "$(rows lines.jsonl)" == *"| cascade | 2.000 |"*"| 2.000 | 2.000 |"*"| 77 |"* ]]
  [[ "$(rows lines.jsonl)" == *"| streamed layers | 5 | 1 | 1 |"*"| batches of 600 | 5 | 1 | 1 |"* ]]
  "$SPDNN" report lines.jsonl | grep -q '^| stopped and continued: its times are sums over 3 parts *| list '
  # Official images and synthetic ones, by the lines that say so.
  line 1024 120 cascade dead 0.001 5 '.suite.options.official_images = true' >lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.suite.options.official_images = false' >>lines.jsonl
  [ "$(rows lines.jsonl | grep -c .)" -eq 2 ]
}

@test "the first sentence names the highest rate on one rank, and on several only where there is no other" {
  line 1024 120 cascade dead 0.001 5 '.machine.ranks = 2' >lines.jsonl
  run "$SPDNN" report lines.jsonl
  [[ "${output//$'\n'/ }" == *"highest verified rate on 2 ranks is 235.9 TE/s (1024 x 120 with 3932160 edges, bias -0.3, cascade, D, infer 1.000 ms)."* ]]
  line 1024 120 cascade dead 0.002 5 '.verdict.against = "the official category list\u0027s digest"' >>lines.jsonl
  run "$SPDNN" report lines.jsonl
  [[ "${output//$'\n'/ }" == *"highest verified rate on 1 rank is 118.0 TE/s (1024 x 120, cascade, D, infer 2.000 ms)."* ]]
}

@test "what is not verified, wrong or of no known build is set aside, with the reason" {
  make_lines lines.jsonl
  line 65536 120 cascade dead 0.001 5 '.verdict.status = "FAILED"' >>lines.jsonl
  line 65536 120 resident dead 0.001 5 '.build.commit = "unknown"' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  headline=$(sed '/^## Not verified/,$d' report.md)
  aside=$(sed -n '/^## Not verified/,$p' report.md | tr -s ' ')
  [[ "$headline" == *"4 are set aside"* ]]
  [[ "$headline" != *UNVERIFIED* && "$headline" != *FAILED* ]]
  [[ "$aside" == *"| not verified | list | 1024 | 480 |"* ]]
  [[ "$aside" == *"| the build had changes that are not committed | list | 1024 | 1920 |"* ]]
  [[ "$aside" == *"| wrong categories | list | 65536 | 120 |"* ]]
  [[ "$aside" == *"| the build's commit is unknown | list | 65536 | 120 |"* ]]
  # One wrong run among several of a configuration makes it wrong, whatever else its line remarks.
  line 1024 120 cusparse_spmm dead 0.1 5 '.verdict.status = "FAILED" | .verdict.categories = 7
    | .notes = ["a note"]' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(sed '/^## Not verified/,$d' report.md)" != *cusparse_spmm* ]]
}

@test "a run that failed one of its checks makes its configuration wrong, whatever the others say" {
  # aside FILE: how many configurations are verified, then of each row that was set aside the reason and what it says.
  aside() {
    "$SPDNN" report "$1" >report.md
    tr '\n' ' ' <report.md | grep -oE '[0-9]+ configurations? (are|is) verified' | cut -d' ' -f1
    sed -n '/^## Not verified/,/^## /p' report.md | grep '^|' | tail -n +3 | cut -d'|' -f 2,3 | tr -s ' '
  }
  local wrong='.verdict.status = "FAILED" | .verdict.categories = 7'
  # Of a list and the reference, in the words of earlier versions, and as data.
  line 1024 120 cascade dead 0.001 5 "$wrong | .verdict.against = \"t.tsv, though not against cpu_reference on all images\"" >lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.verdict.against = "t.tsv and cpu_reference on all images"' >>lines.jsonl
  [ "$(aside lines.jsonl)" = $'0\n wrong categories | t.tsv, though not against cpu_reference on all images ' ]
  sed -i '2{s/"against":"[^"]*"/"against":"in other words","checks":["t.tsv","cpu_reference on all images"]/}' lines.jsonl
  [ "$(aside lines.jsonl)" = $'0\n wrong categories | t.tsv, though not against cpu_reference on all images ' ]
  # A second run with `dead` alone that disagreed, beside one that agreed.
  local compared='.compared = {variant: "cpu_openmp", passes: "dead", same_categories: '
  line 1024 120 cascade twins 0.001 5 "$compared false} | $wrong | .verdict.against = \"--reduce dead by cpu_openmp, though not against t.tsv\"" >lines.jsonl
  line 1024 120 cascade twins 0.002 5 "$compared true} | .verdict.against = \"t.tsv\"" >>lines.jsonl
  [ "$(aside lines.jsonl)" = $'0\n wrong categories | --reduce dead by cpu_openmp, though not against t.tsv ' ]
  # And one that made no second run: the list was the same.
  line 1024 120 cascade twins 0.002 5 '.verdict.against = "t.tsv"' >>lines.jsonl
  [ "$(aside lines.jsonl | grep -c '^ wrong categories | --reduce dead by cpu_openmp, though not against t.tsv $')" -eq 2 ]
  [ "$(aside lines.jsonl | head -1)" = 0 ]
  # A line that says that both runs differ is not verified, whatever else it says.
  line 1024 120 cascade twins 0.001 5 "$compared false} | .verdict.against = \"t.tsv\"" >lines.jsonl
  [ "$(aside lines.jsonl)" = $'0\n wrong categories | t.tsv ' ]
  # A run that was compared with another list, or on another machine, proves nothing about this one.
  line 1024 120 cascade dead 0.001 5 "$wrong | .verdict.checks = [\"a\", \"b\"]" >lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.verdict.checks = ["c"]' >>lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.verdict.checks = ["b"] | .machine.device = "E"' >>lines.jsonl
  line 1024 120 resident dead 0.002 5 '.verdict.checks = ["b"]' >>lines.jsonl
  "$SPDNN" report lines.jsonl | tr '\n' ' ' | grep -q '3 configurations are verified, by a build without uncommitted changes; 1 is set aside'
}

@test "a later build that fails more checks than the earlier one made replaces it" {
  line 1024 120 cascade dead 0.001 5 '.verdict.against = "t.tsv"' >lines.jsonl
  line 1024 120 cascade dead 0.002 5 '.verdict.against = "cpu_reference, though not against t.tsv" | .verdict.status = "FAILED"
    | .build.commit = "def"' >>lines.jsonl
  "$SPDNN" report lines.jsonl | tr '\n' ' ' >report.md
  tr '\n' ' ' <report.md | grep -q '0 configurations are verified, by a build without uncommitted changes; 1 is set aside, with its reason. 1 line is from earlier builds'
}

@test "runs of infer that were checked alike are one configuration, and one list that was wrong makes it wrong" {
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 6 --degree 16 --bias -0.2 --out r.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 200 --seed 3 --out i.spdnn
  local arguments=(--network r.spdnn --inputs i.spdnn --variant cpu_openmp --trials 1)
  "$SPDNN" infer "${arguments[@]}" --categories right.tsv >/dev/null
  for options in "--truth t.tsv --verify all" "--truth t.tsv --verify all --compare"; do
    sed 1d right.tsv >t.tsv
    # shellcheck disable=SC2086
    run "$SPDNN" infer "${arguments[@]}" $options --json wrong.json
    [ "$status" -eq 1 ]
    cp right.tsv t.tsv
    # shellcheck disable=SC2086
    "$SPDNN" infer "${arguments[@]}" $options --json right.json >/dev/null
    cat wrong.json right.json | jq -c '.build |= (.commit = "abc" | .dirty = false)' >lines.jsonl
    "$SPDNN" report lines.jsonl >report.md
    cat report.md
    tr '\n' ' ' <report.md | grep -q '2 runs of `spdnn infer`.* 0 configurations are verified.*; 1 is set aside'
    jq -se --arg n "$(wc -w <<<"$options")" '.[0].verdict.checks == .[1].verdict.checks and
      (.[0].verdict.checks | length) == ($n | tonumber) - 2 and .[0].verdict.checks[0] == "t.tsv"' lines.jsonl
  done
}

@test "machines and commits are never mixed, and a later commit replaces an earlier one only on its machine" {
  line 1024 120 cascade dead 0.001 5 >lines.jsonl
  line 1024 120 cascade dead 0.003 5 '.build.commit = "def"' >>lines.jsonl
  line 1024 120 cascade dead 0.005 5 '.machine.device = "E"' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  cat report.md
  grep -q '1 line is from earlier builds' report.md
  [[ "$(squeezed report.md)" == *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* && "$(squeezed report.md)" == *"| cascade | 5.000 | 47.19 | PASSED | E | 1 |"* ]]
  [[ "$(squeezed report.md)" != *"| cascade | 1.000 | 235.9 | PASSED | D | 1 |"* ]]
  [[ "$(squeezed report.md)" == *"| 1 | h | D | - | - | C | 1 | 0 | abc | none | 1 |"* ]]
  # One rank of 32 threads and two of 16 are one machine; two of 32 are not.
  line 1024 120 cascade dead 0.001 5 '.machine.threads = 32' >ranks.jsonl
  line 1024 120 cascade dead 0.001 5 '.machine.threads = 16 | .machine.ranks = 2' >>ranks.jsonl
  "$SPDNN" report ranks.jsonl | tr '\n' ' ' | grep -qF 'made on 1 kind of machine by 1 combination'
  line 1024 120 cascade dead 0.001 5 '.machine.threads = 32 | .machine.ranks = 2' >>ranks.jsonl
  "$SPDNN" report ranks.jsonl | tr '\n' ' ' | grep -qF 'made on 2 kinds of machine by 2 combinations'
  "$SPDNN" report lines.jsonl --all >all.md
  [[ "$(squeezed all.md)" == *"| cascade | 1.000 | 235.9 | PASSED | D | 1 |"* && "$(squeezed all.md)" == *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* ]]
  # A later line that is worth less replaces nothing.
  line 1024 120 cascade dead 0.0001 5 '.build.commit = "ghi" | .build.dirty = true' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(sed '/^## Not verified/,$d' report.md | tr -s ' ')" == *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* ]]
  line 1024 120 cascade dead 0.0001 5 '.build.commit = "ghi" | .build.dirty = true | .verdict.status = "FAILED"' >>lines.jsonl
  line 1024 120 cascade dead 0.0001 5 '.build.commit = "unknown" | .verdict.status = "FAILED"' >>lines.jsonl
  line 1024 120 cascade dead 0.0001 5 '.build.commit = "ghi" | .verdict.status = "UNVERIFIED"' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(sed '/^## Not verified/,$d' report.md | tr -s ' ')" == *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* ]]
  # Unless it says that a later commit computes wrong categories.
  line 1024 120 cascade dead 0.004 5 '.build.commit = "jkl" | .verdict.status = "FAILED" | .verdict.categories = 7' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(sed '/^## Not verified/,$d' report.md | tr -s ' ')" != *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* ]]
  [[ "$(sed '/^## Not verified/,$d' report.md | tr -s ' ')" == *"| cascade | 5.000 | 47.19 | PASSED | E | 1 |"* ]]
  [[ "$(sed -n '/^## Not verified/,$p' report.md | tr -s ' ')" == *"| wrong categories | list |"*"| cascade | 4.000 |"* ]]
  # And a commit after that mends it.
  line 1024 120 cascade dead 0.003 5 '.build.commit = "mno"' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(sed '/^## Not verified/,$d' report.md | tr -s ' ')" == *"| cascade | 3.000 | 78.64 | PASSED | D | 1 |"* ]]
}

@test "where nothing is verified, the report says how to verify, and has no empty table" {
  line 1024 120 cascade dead 0.001 5 '.verdict.status = "UNVERIFIED"' >lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  text=$(tr '\n' ' ' <report.md)
  [[ "$text" == *"1 is set aside, with its reason. "* ]]
  [[ "$text" == *'Use `--verify N` with all images, or `--mnist`'* ]]
  [ "$(grep -c '^| neurons' report.md)" -eq 0 ]
  [ "$(grep -c '^| why' report.md)" -eq 1 ]
  run "$SPDNN" report lines.jsonl --format csv
  [ "$status" -eq 2 ]
  [[ "$output" == *"--table: there is no table 'submission'; expected machines-table, set-aside"* ]]
  line 1024 120 cascade dead 0.001 5 >lines.jsonl
  run "$SPDNN" report lines.jsonl
  [[ "${output//$'\n'/ }" == *"1 configuration is verified, by a build without uncommitted changes. The highest"* ]]
  [[ "$output" != *"set aside"* && "$output" != *"--verify"* ]]
}

@test "speed-ups are over the same problem on the same machine; other systems stay apart" {
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl --baseline cusparse_spmm --baseline "$root/results/baselines.csv" --out report.md
  cat report.md
  [[ "$(squeezed report.md)" == *"| 1024 | 120 | cascade | twins,dead | 1.500 | dead | 100.0 | 66.7 | 1 | 1 |"* ]]
  [[ "$(sed '/^## Other systems/,$d' report.md)" != *SNICIT* ]]
  [[ "$(squeezed report.md)" == *"| 1024 | 120 | cascade | twins,dead | 1.500 | 157.3 | XY 2021 | NVIDIA H200 | 1 | 39.59 | 4.0 | run by us |"* ]]
  line 1024 120 cascade twins,dead 0.00001 5 >fast.jsonl
  "$SPDNN" report fast.jsonl --baseline "$root/results/baselines.csv" --out fast.md
  [[ "$(squeezed fast.md)" == *"| 23593 | XY 2021 | NVIDIA H200 | 1 | 39.59 | 600 | run by us |"* ]]
  "$SPDNN" report lines.jsonl --baseline "$root/results/baselines.csv" --out report.html
  [[ "$(sed -n '/id="charts"/p' report.html)" != *SNICIT* ]]
  run "$SPDNN" report lines.jsonl --baseline nothing
  [ "$status" -eq 2 ]
  [[ "$output" == "spdnn: --baseline: no line is from the variant 'nothing'" ]]
  # A variant whose runs are all set aside is no mistake, but nothing is compared with it.
  line 1024 120 spmm_rows dead 0.1 5 '.build.dirty = true' >>lines.jsonl
  "$SPDNN" report lines.jsonl --baseline spmm_rows >report.md
  [[ "$(cat report.md)" != *"Speed-ups"* ]]
}

@test "scaling: ranks, efficiency and phases of verified runs" {
  make_lines lines.jsonl
  line 1024 120 cascade dead 0.004 5 '.scaling = {kind: "weak", ranks: 1}' >>lines.jsonl
  line 1024 120 cascade dead 0.005 5 '.scaling = {kind: "weak", ranks: 2} | .machine.ranks = 2 | .problem.images *= 2
    | .verdict.categories *= 2 | .rate *= 2 | .rate_end_to_end *= 2' >>lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(squeezed report.md)" == *"| twins,dead | strong | 2 | 0.6000 | 125.0 |"* ]]
  [[ "$(squeezed report.md)" == *"| dead | weak | 2 | 5.000 | 80.0 |"* ]]
}

@test "images alive: the deepest of networks that differ in depth alone, and what has no room" {
  local cap
  # text FILE: the section, on one line.
  text() { "$SPDNN" report "$1" | sed -n '/^## Images alive/,/^## What/p' | tr -s '\n ' '  '; }
  line 1024 120 cascade dead 0.001 5 '.active = [60000]' >lines.jsonl
  line 1024 480 cascade dead 0.001 5 '.alive += [1811] | .active = [60000]' >>lines.jsonl
  [[ "$(text lines.jsonl)" == *"| after layer | 1024 neurons, bias -0.3 | |"*"| 5 | 1811 |"* ]]
  [[ "$(text lines.jsonl)" != *"do not contain"* && "$(text lines.jsonl)" != *"omitted"* ]]
  line 1024 480 cascade dead 0.001 5 '.problem.cap = 1 | .alive = [9]' >>lines.jsonl
  line 1024 480 cascade dead 0.001 5 '.problem.edges /= 2 | .rate /= 2 | .rate_end_to_end /= 2 | .alive = [7]' >>lines.jsonl
  [[ "$(text lines.jsonl)" == *"| 1 | 50000 | 7 | 9 |"* ]]
  [[ "$(text lines.jsonl)" == *"lines without \`active\` do not contain"* ]]
  for cap in 2 3 4 5 6 7; do line 1024 480 cascade dead 0.001 5 ".problem.cap = $cap"; done >>lines.jsonl
  [[ "$(text lines.jsonl)" == *"1 more are omitted"* ]]
}

@test "clocks, power and energy are shown where lines have them" {
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(squeezed report.md)" == *"| 1980, 1.000 to 1985 | 2.000, 1.000 to 3.000 | 31.50, 30.00 to 40.00 | 612.2, 100.0 to 700.0 | 0.01250 |"* ]]
  line 1024 120 cascade dead 0.001 5 >lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  [[ "$(cat report.md)" != *"Clocks, power"* ]]
}

@test "a line that is not understood is refused with its file, line and column, and nothing is written" {
  good=$(line 1024 120 resident dead 0.002 5)
  refuse() {
    printf '%s\n%s\n' "$good" "$1" >lines.jsonl
    run "$SPDNN" report lines.jsonl --out report.md
    echo "$output"
    [ "$status" -eq 3 ]
    [[ "$output" == "spdnn: lines.jsonl:2:"*"$2"* ]]
    [ "${#lines[@]}" -eq 1 ]
    [ ! -e report.md ]
  }
  refuse "${good%?}" "${#good}: not JSON"
  refuse "" "1: not JSON"
  refuse "[1]" "1: [1], expected an object"
  refuse "$(jq -c '.schema = "spdnn-run-9"' <<<"$good")" '2: schema is "spdnn-run-9", expected spdnn-run-1, spdnn-layers-1, spdnn-model-1, spdnn-model-bench-1 or spdnn-conv-bench-1'
  refuse "$(jq -c 'del(.schema)' <<<"$good")" "no field schema"
  refuse "$(jq -c 'del(.seconds.infer.median)' <<<"$good")" "seconds.infer is"
  refuse "$(jq -c '.seconds.infer.min = 9' <<<"$good")" "expected min <= median <= max"
  refuse "$(jq -c '.trials = "5"' <<<"$good")" 'trials is "5"'
  refuse "$(jq -c '.trials = -5' <<<"$good")" 'trials is -5'
  refuse "$(jq -c '.seconds.read = -1' <<<"$good")" 'seconds.read is -1'
  refuse "$(jq -c '.rate *= 1.01' <<<"$good")" "rate is"
  refuse "$(jq -c '.rate_end_to_end *= 1.01' <<<"$good")" "rate_end_to_end is"
  refuse "$(jq -c '.computed_edges = 8e9 | .rate_computed = 4.1e12' <<<"$good")" "rate_computed is 4100000000000, expected 8e+09 edges / 0.002 s"
  # Sharing among ranks is set-up.
  with_share=$(jq -c '.seconds.share = 0.623 | .rate_with_setup = .problem.edges * 60000' <<<"$good")
  printf '%s\n' "$with_share" >lines.jsonl
  "$SPDNN" report lines.jsonl >/dev/null
  refuse "$(jq -c 'del(.seconds.share)' <<<"$with_share")" "rate_with_setup is"
  refuse "$(jq -c '.verdict.status = "FINE"' <<<"$good")" "verdict.status is \"FINE\""
  refuse "$(jq -c '.problem.neurons = []' <<<"$good")" "problem.neurons is []"
  refuse "$(jq -c '.device_state = {power_w: 5}' <<<"$good")" "device_state.power_w is 5, expected numbers"
  refuse "$(jq -c '.active = [1, null, -1]' <<<"$good")" "expected whole numbers or null"
  refuse "$(head -n 1 "$BATS_TEST_DIRNAME/../../results/h200/layers.jsonl" | jq -c '.bytes = 0')" "bytes is 0, expected a number above 0"
  refuse "$(jq -c '.computed_edges = 1e308' <<<"$good")" "computed_edges is 1e+308, expected 0 or a number from 1e-60 to 1e60"
  refuse "$(jq -c '.computed_edges = 1e-200' <<<"$good")" "computed_edges is 1e-200, expected 0 or a number from"
  refuse "$(jq -c '.device_state = {power_w: {min: 0, median: 1, max: 1e308}}' <<<"$good")" "device_state.power_w is"
  for field in .trials .parts .machine.ranks .machine.threads; do
    refuse "$(jq -c "$field = 4294967297" <<<"$good")" "${field#.} is 4294967297, expected a whole number from 1 to 2147483647"
    refuse "$(jq -c "$field = 0" <<<"$good")" "${field#.} is 0, expected a whole number from 1"
  done
  refuse "$(jq -c '.verdict.missing = 3' <<<"$good")" "verdict.missing is 3, expected 0 with status PASSED"
  refuse "$(jq -c '.verdict.extra = 1' <<<"$good")" "verdict.extra is 1, expected 0 with status PASSED"
  refuse "$(jq -c '.seconds.infer.min = -1' <<<"$good")" 'seconds.infer is {"min":-1,"median":0.002,"max":0.002}, expected no negative'
  refuse "$(jq -c '.alive = [range(121)]' <<<"$good")" "expected at most 120 numbers, one per layer"
  refuse "$(jq -c '.active = [range(121)]' <<<"$good")" "expected at most 120 numbers, one per layer"
  refuse "$(jq -c '.alive = [60001]' <<<"$good")" "expected at most 60000 images"
  refuse "{\"a\":\"[[\\\"\",\"b\":$(printf '%3000000s' '' | tr ' ' '[')" "80: nested too deeply, expected at most 64 levels"
  jq -c '.machine.threads = 2147483647 | .machine.ranks = 2147483647 | .seconds.infer.max = 1e60 | .verdict.missing = 0 | .machine.device = null' \
    <<<"$good" >lines.jsonl
  "$SPDNN" report lines.jsonl --out report.md
  [[ "$(squeezed report.md)" == *"| C | 4611686014132420609 |"*"| 2.000 | 1.000e+63 |"* ]]
}

@test "files and options that do not fit are refused, and outputs are whole or not there" {
  refuse() {
    run "$SPDNN" report "${@:3}"
    echo "$output"
    [ "$status" -eq "$1" ]
    [[ "$output" == "spdnn: "*"$2"* ]]
    [ "${#lines[@]}" -eq 1 ]
  }
  line 1024 120 cascade dead 0.001 5 >lines.jsonl
  mkdir folder
  refuse 2 "RESULTS"
  refuse 3 "missing.jsonl" missing.jsonl
  refuse 3 "no files *.jsonl or *.json in this directory" folder
  refuse 2 "is given twice" lines.jsonl ./lines.jsonl
  refuse 2 "--format: 'pdf' is not one of" lines.jsonl --format pdf
  refuse 2 "--out: 'r.pdf' does not end in .md, .csv, .tex or .html" lines.jsonl --out r.pdf
  refuse 2 "--table: only csv holds a single table, but the format is md" lines.jsonl --table machines-table
  refuse 2 "--table: only csv holds a single table, but the format is html" lines.jsonl --table x --out r.html
  refuse 2 "--table: there is no table 'x'; expected submission" lines.jsonl --format csv --table x
  refuse 2 "--out" lines.jsonl --out lines.jsonl
  refuse 3 "folder" lines.jsonl --out folder
  refuse 3 "/dev/full" lines.jsonl --out /dev/full
  refuse 3 "missing/report.md" lines.jsonl --out missing/report.md
  refuse 2 "at most one variant and one FILE.csv" lines.jsonl --baseline a --baseline b
  refuse 2 "at most one variant and one FILE.csv" lines.jsonl --baseline a.csv --baseline b.csv
  refuse 2 "--baseline: the value is empty" lines.jsonl --baseline cascade --baseline ''
  : >empty.jsonl
  refuse 3 "empty.jsonl: holds no JSON line" empty.jsonl
  printf 'system\n' >bad.csv
  refuse 3 "bad.csv:1:1: expected the columns" lines.jsonl --baseline bad.csv
  head -2 "$root/results/baselines.csv" | sed '2s/,1024,/,many,/' >bad.csv
  refuse 3 "bad.csv:2:25: 'many' is not a positive whole number" lines.jsonl --baseline bad.csv
  { head -1 "$root/results/baselines.csv" && echo '"a'; } >bad.csv
  refuse 3 "bad.csv:2:1: a quotation that does not end" lines.jsonl --baseline bad.csv
  [ "$(cat lines.jsonl)" = "$(line 1024 120 cascade dead 0.001 5)" ]
  [ "$(find . -type f | sort | xargs)" = "./bad.csv ./empty.jsonl ./lines.jsonl" ]
}

@test "another table as CSV, and a title" {
  make_lines lines.jsonl
  run "$SPDNN" report lines.jsonl --format csv --table machines-table
  [[ "${lines[0]}" == "run_on,host,device,driver,CUDA,processor,threads,version,commit,changes,lines" ]]
  [[ "${lines[1]}" == "1,h,D,,,C,1,0,abc,none,"* ]]
  for name in machines results alive phases; do "$SPDNN" report lines.jsonl --format csv --table $name | grep -q ,; done
  run "$SPDNN" report lines.jsonl --title 'A & B'
  [[ "${lines[0]}" == "# A &amp; B" ]]
}

@test "text that is no UTF-8 is shown by its bytes, and text that is a formula as text" {
  line 1024 120 cascade dead 0.001 5 '.machine.device = "=1+1" | .passes = "@a"' >lines.jsonl
  { head -1 "$root/results/baselines.csv" && printf 'a\xff\x1b,"=2+2",1,1024,120,60000,1,,c,published,s\n'; } >b.csv
  for suffix in md tex html; do
    "$SPDNN" report lines.jsonl --baseline b.csv --title $'caf\xe9 \x07' --out "report.$suffix"
    iconv -f UTF-8 -t UTF-8 "report.$suffix" >/dev/null
  done
  grep -qF '# caf\\xe9 \\x07' report.md
  grep -qF '<title>caf\xe9 \x07</title>' report.html
  grep -qF '| a\\xff ' report.md
  "$SPDNN" report lines.jsonl --format csv >report.csv
  grep -qF $',"\'=1+1",1,"\'@a",-0.3,' report.csv
  "$SPDNN" report lines.jsonl --baseline b.csv --format csv --table others-table >report.csv
  grep -qF $',a\\xff ,"\'=2+2",1,' report.csv
}

@test "the first sentence of a Markdown report holds no link and no image of a line's text" {
  line 1024 120 'v[x](http://y)' dead 0.001 5 '.machine.device = "D ![i](http://z) ``[k](l)"' >lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  cat report.md
  ! grep -qE '(^|[^\\])\[' report.md
}

@test "a report of models alone: no empty section, a machine, the time of each node, CSV of the models" {
  make_model_lines lines.jsonl
  "$SPDNN" report lines.jsonl >report.md
  cat report.md
  [ "$(grep '^## ' report.md | xargs)" = "## Machines and builds ## Models ## Time by node ## Definitions" ]
  tr '\n' ' ' <report.md | grep -q '2 runs of models by `spdnn infer --model`, made on 1 kind of machine .* Of the runs of models 1 is verified'
  [ "$(sed -n '/^## Machines/,/^## Models/p' report.md | grep -c '^| *1 ')" -eq 1 ]
  grep -q '`dense` is 2 x' report.md
  nodes=$(jq '.profile | length' lines.jsonl | head -1)
  [ "$nodes" -gt 3 ]
  [ "$("$SPDNN" report lines.jsonl --format csv --table profile-1 | wc -l)" -eq $((nodes + 1)) ]
  # The table of models is what a CSV of such lines holds, under either name.
  "$SPDNN" report lines.jsonl --format csv >models.csv
  [ "$(head -1 models.csv)" = "model,verdict,variant,images,batch,infer_ms,rate_images_per_s,zeros_percent,dense_GFLOP_per_s,sparse_GFLOP_per_s,accuracy_percent,of_the_bound_percent,run_on" ]
  [ "$(wc -l <models.csv)" -eq 3 ]
  for name in models models-table; do "$SPDNN" report lines.jsonl --format csv --table $name | cmp - models.csv; done
  jq -c '.profile[1].seconds = "long"' lines.jsonl >wrong.jsonl
  run "$SPDNN" report wrong.jsonl
  [ "$status" -eq 3 ]
  [[ "$output" == "spdnn: wrong.jsonl:1:"*"expected nodes with name, operation and seconds" ]]
}

@test "pandas loads the CSV" {
  needs /usr/lib/python3/dist-packages/pandas
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl --out report.csv
  run /usr/bin/python3 -c '
import pandas
table = pandas.read_csv("report.csv")
assert table.infer_ms.dtype == float and table["edges"].dtype == int, table.dtypes
print(table.rate_TE_per_s.max(), len(table), table.computed_TE_per_s.isna().sum())'
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "1258.0 6 4" ]
}

@test "LaTeX typesets the tables" {
  needs pdflatex
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl --baseline cusparse_spmm --baseline "$root/results/baselines.csv" --out report.tex
  run pdflatex -interaction=nonstopmode -halt-on-error report.tex
  [ "$status" -eq 0 ] || tail -20 report.log
  [ "$status" -eq 0 ]
  [ -s report.pdf ]
  ! grep -q Overfull report.log
}

@test "the page works in a browser, without a network" {
  needs chromium chromedriver /usr/lib/python3/dist-packages/selenium
  make_lines lines.jsonl
  "$SPDNN" report lines.jsonl --baseline cusparse_spmm --baseline "$root/results/baselines.csv" --out report.html
  run /usr/bin/python3 "$root/tests/report/browser.py" report.html
  echo "$output"
  [ "$status" -eq 0 ]
  make_model_lines lines.jsonl
  jq -c '.rate = 190000' lines.jsonl >models.jsonl # six digits at the marks of an axis
  "$SPDNN" report models.jsonl --out models.html
  run /usr/bin/python3 "$root/tests/report/browser.py" models.html
  echo "$output"
  [ "$status" -eq 0 ]
  # The test can fail: without its script a page draws nothing.
  sed 's/new Chart(canvas/(() => ({destroy() {}}))(canvas/' report.html >broken.html
  run /usr/bin/python3 "$root/tests/report/browser.py" broken.html
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"is blank"* ]]
}

@test "the time of a report grows with its lines, not with their square" {
  # Of equal lines, of lines with other categories, and of one configuration by many builds. No clock is read: a report that
  # compares all pairs of all of these would take minutes.
  local one lines
  lines=$(sampled 2000 20000)
  one=$(line 1024 120 cascade dead 0.001 5)
  { yes "$one" | head -n "$lines" || true; } >equal.jsonl
  "$SPDNN" report equal.jsonl --format csv | tail -1 | grep -q ",5,$lines,1\$"
  seq "$lines" | sed "s/.*/${one/'"categories":1812'/'"categories":&'}/" >categories.jsonl
  [ "$("$SPDNN" report categories.jsonl --format csv | wc -l)" -eq $((lines + 1)) ]
  seq "$lines" | sed "s/.*/${one/'"abc"'/'"&"'}/" >builds.jsonl
  [ "$("$SPDNN" report builds.jsonl --format csv | wc -l)" -eq 2 ]
}

@test "single layers: what is below fp32 is set beside the fastest in fp32, per image" {
  local line
  line=$(head -n 1 "$BATS_TEST_DIRNAME/../../results/h200/layers.jsonl" | jq -c '.machine.threads = 1')
  layer() { jq -c ".variant = \"$1\" | .images = $3 | .seconds_per_layer = {min: $4, median: $4, max: $4} | $2" <<<"$line"; }
  {
    layer spmm_rows 'del(.precision)' 60000 0.004
    layer resident '.precision = "fp32"' 60000 0.003
    layer cublas_dense '.precision = "fp32"' 60000 0.005
  } >lines.jsonl
  [[ "$("$SPDNN" report lines.jsonl)" != *"fp32 / below"* ]]
  {
    layer cublas_dense '.precision = "tf32"' 60000 0.0028
    layer cublas_dense '.precision = "fp16"' 60000 0.002
    layer cublas_dense '.precision = "fp16"' 30000 0.001
  } >>lines.jsonl
  "$SPDNN" report lines.jsonl --out report.md
  [[ "$(squeezed report.md)" == *"| resident | 3.000 | cublas_dense fp16 | 2.000 | 1.500 |"* ]]
}
