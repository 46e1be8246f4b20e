#!/usr/bin/env bats
# Descriptions of the program: the help of each command, its man page, and the completion of shells.

repository=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
commands=(infer generate convert prune inspect bench report variants help)
forms=("generate network" "generate inputs" "generate model" "generate tensors"
  "bench layers" "bench suite" "bench scaling" "bench model any" "bench conv" "infer --model any" "inspect any.onnx")

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
}

# help WORDS...: prints the help of a command, which its words are given one by one.
help() { "$SPDNN" "$@" --help; }

# names: the options in a help.
names() { grep -oE '^  --[a-z0-9-]+' | tr -d ' ' | sort -u; }

@test "help: each option names what it takes, and lines have at most 80 columns" {
  printf 'x' >any.onnx
  [ "$("$SPDNN" --help | grep -cE '^  [a-z]+ ')" -eq ${#commands[@]} ]
  for words in "${commands[@]}" "${forms[@]}"; do
    # shellcheck disable=SC2086  # words are meant
    help $words >text
    [[ "$(head -1 text)" == "usage: spdnn ${words%% *}"* ]]
    awk -v words="$words" 'length > 80 { print words ": " $0; long = 1 } END { exit long }' text
    run grep -nE -- '--[a-z-]+ arg| $' text
    [ "$status" -eq 1 ]
  done
  help infer | grep -qE '^  --device auto\|cpu\|cuda \(=auto\) '
  help infer | grep -qE '^  --truth FILE '
  help report | grep -qE '^  --baseline NAME '
}

@test "help: of a terminal, lines have its width" {
  command -v script >/dev/null || skip "needs script"
  for columns in 50 110; do
    script -qec "stty cols $columns; '$SPDNN' infer --help" typescript </dev/null | tr -d '\r' >text
    [ "$(awk 'length > n { n = length } END { print n }' <(grep -v '^  spdnn infer\|^    --' text))" -le $columns ]
  done
  grep -qE '.{90}' text
}

@test "help of infer and inspect: of networks and of models; of either alone where it is asked for" {
  help infer >both
  help infer --network any >network
  help infer --model any >model
  [ "$(names <both)" = "$(cat network model | names)" ]
  names <both | grep -qx -- --logits
  run grep -e --logits network
  [ "$status" -eq 1 ]
  run grep -e --truth model
  [ "$status" -eq 1 ]
  help inspect | names | grep -qx -- --node
  help inspect | names | grep -qx -- --layer
}

@test "help bench: the purpose and the options of each suite" {
  help bench >text
  for what in layers suite scaling; do
    [ "$(help bench $what | sed -n 1p)" = "usage: spdnn bench $what [OPTIONS]" ]
    sentence=$(help bench $what | sed -n 3p)
    [[ "$sentence" == [A-Z]*" "* ]]
    grep -qxF "$sentence" text
    [ -z "$(comm -23 <(help bench $what | names) <(names <text))" ]
  done
}

@test "spdnn help COMMAND is COMMAND --help, and refuses words that are none" {
  for words in "${commands[@]}"; do [ "$("$SPDNN" help "$words")" = "$(help "$words")" ]; done
  [ "$("$SPDNN" help bench suite)" = "$(help bench suite)" ]
  [ "$("$SPDNN" help)" = "$("$SPDNN" --help)" ]
  run "$SPDNN" help bench suites
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: 'bench suites' is not a command; see spdnn help bench" ]
  run "$SPDNN" help bench su
  [ "$status" -eq 2 ]
  run "$SPDNN" help bnech
  [ "$status" -eq 2 ]
  run "$SPDNN" help --completion ksh
  [ "$status" -eq 2 ]
  [ "$output" = "spdnn: --completion: 'ksh' is neither bash nor fish" ]
}

@test "man pages: one for the program and one for each command, which has all of its options" {
  "$SPDNN" help --man >spdnn.1
  for command in "${commands[@]}"; do
    "$SPDNN" help --man "$command" >"spdnn-$command.1"
    [ -z "$(comm -23 <(help "$command" | names) <(sed -n 's/\\-/-/g; s/^\\fB\(--[a-z0-9-]*\)\\fR.*/\1/p' "spdnn-$command.1" | sort -u))" ]
    grep -qF ".BR spdnn\\-$command (1)" spdnn.1
    run grep -E "^['.]" "spdnn-$command.1"
    [ "$(grep -cvE '^\.(TH|SH|SS|TP|PP|BR|br|EX|EE)( |$)' <<<"$output")" -eq 0 ] # no text is taken for a request
  done
  grep -qF '\fB\-\-trials\fR \fIN (=1)\fR' spdnn-infer.1
}

@test "man pages are free of what groff and mandoc complain of" {
  command -v groff || command -v mandoc || skip "neither groff nor mandoc"
  for page in "" "${commands[@]}"; do
    # shellcheck disable=SC2086  # a word or none
    "$SPDNN" help --man $page >page.1
    if command -v groff; then
      run groff -man -Tutf8 -ww -z page.1
      echo "$output"
      [ -z "$output" ]
    fi
    if command -v mandoc; then
      mandoc -T lint page.1 >complaints || true
      cat complaints
      [ "$(grep -cv 'missing date' complaints)" -eq 0 ]
    fi
  done
}

# completes WORDS...: prints bash's completions of the last word of a command line. A file `no_files` exists where bash must
# not offer names of files instead.
completes() {
  COMP_WORDS=(spdnn "$@") COMP_CWORD=$#
  COMPREPLY=()
  # shellcheck disable=SC2317  # called by _spdnn; the shell's own works within a completion alone
  compopt() { [ "$*" != "+o default" ] || : >no_files; }
  rm -f no_files
  _spdnn
  printf '%s\n' "${COMPREPLY[@]}"
}

@test "completion of bash: commands, forms, options and their values" {
  "$SPDNN" help --completion bash >completion
  bash -n completion
  # shellcheck disable=SC1091  # made a line ago
  source completion
  complete -p spdnn | grep -q -- '-o default -F _spdnn'
  [ "$(completes "" | head -9 | tr '\n' ' ')" = "${commands[*]} " ]
  [ "$(completes --)" = $'--help\n--version' ]
  [ "$(completes inf)" = infer ]
  [ "$(completes bench "" | tr '\n' ' ')" = "layers model conv suite scaling " ]
  [ "$(completes bench su)" = suite ]
  [ "$(completes bench suite --dry)" = --dry-run ]
  [ "$(completes infer --tru)" = --truth ]
  [ "$(completes infer --device "" | tr '\n' ' ')" = "auto cpu cuda " ]
  [ "$(completes infer --device = cu)" = cuda ]
  [ "$(completes infer --device = | tr '\n' ' ')" = "auto cpu cuda " ]
  [ "$(completes infer --mod)" = --model ]
  [ "$(completes infer --model m.onnx --log)" = --logits ]
  [ -z "$(completes infer --model m.onnx --tru)" ] # an option of networks
  [ -z "$(completes infer --truth t)" ]
  [ ! -e no_files ]
  [ -z "$(completes infer --trials "")" ]
  [ -e no_files ]
  [ -z "$(completes inspect "")" ]
  [ "$(completes help in | tr '\n' ' ')" = "infer inspect " ]
  [ "$(completes help --completion "" | tr '\n' ' ')" = "bash fish " ]
  printf 'x' >any.onnx
  for words in convert inspect report variants help "infer --network any" "${forms[@]}"; do
    # shellcheck disable=SC2086  # words are meant
    [ -z "$(comm -23 <(help $words | names) <(completes $words -- | sort))" ]
  done
}

@test "completion of fish: commands, forms, options and their values" {
  [ -n "${CI:-}" ] || command -v fish || skip "needs fish: make deps"
  "$SPDNN" help --completion fish >completion.fish
  offers() { env HOME="$PWD" fish --no-config -c "source completion.fish; complete -C 'spdnn $1'" | cut -f1; }
  [ "$(offers inf)" = infer ]
  [ "$(offers 'bench su')" = suite ]
  [ "$(offers 'bench suite --dry')" = --dry-run ]
  [ "$(offers 'infer --device cu' | tr '\n' ' ')" = "cuda " ]
  [ "$(offers 'infer --tru')" = --truth ]
  touch truth.tsv
  [ "$(offers 'infer --truth tru')" = truth.tsv ]
}

@test "make man and make completion write them as they are printed" {
  out=$(basename "$(dirname "$(realpath "$SPDNN")")")
  [ "$(realpath "$SPDNN")" = "$repository/build/$out/spdnn" ] || skip "the program is not in the build folder of these tests"
  options=("BUILD=${out%%-*}" GPU=0)
  if [[ $out == *-cuda* ]]; then options+=(GPU=1); fi
  if [[ $out == *-portable ]]; then options+=(PORTABLE=1); fi
  env -u MAKEFLAGS -u MAKELEVEL make -s -C "$repository" "${options[@]}" man completion
  share=$repository/build/$out/share
  "$SPDNN" help --man | cmp - "$share/man/man1/spdnn.1"
  for command in "${commands[@]}"; do "$SPDNN" help --man "$command" | cmp - "$share/man/man1/spdnn-$command.1"; done
  [ "$(find "$share/man/man1" -name 'spdnn*.1' | wc -l)" -eq $((${#commands[@]} + 1)) ]
  "$SPDNN" help --completion bash | cmp - "$share/bash-completion/completions/spdnn"
  "$SPDNN" help --completion fish | cmp - "$share/fish/vendor_completions.d/spdnn.fish"
}
