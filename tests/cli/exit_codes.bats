#!/usr/bin/env bats
# Exit codes and messages where the system fails: streams, threads, memory, names. Whatever happens, the code is one of
# the program's own and an error is one line on stderr.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  mkdir net
  printf '1\t1\t1\n2\t2\t1\n' >net/n2-l1.tsv
  printf '1\t1\t1\n1\t2\t1\n' >net/n2-l2.tsv
  printf '1\t1\t1\n2\t2\t1\n3\t1\t1\n3\t2\t1\n' >images.tsv
  infer=("$SPDNN" infer --network net --inputs images.tsv --bias -0.25)
}

# one_line CODE PATTERN COMMAND...: the command ends with this code and one line on stderr, which matches the pattern.
one_line() {
  local code=$1 pattern=$2 status=0
  shift 2
  "$@" 2>stderr >stdout || status=$?
  printf '%s: %s\n' "$status" "$*" && cat stderr
  # shellcheck disable=SC2053
  [ "$status" -eq "$code" ] && [ "$(wc -l <stderr)" -eq 1 ] && [[ $(cat stderr) == $pattern ]]
}

@test "a stderr that is closed or full changes no exit code" {
  "$SPDNN" convert net biased.spdnn --bias -0.25
  printf '1\n2\n' >wrong.tsv
  for stderr in '2>&-' '2>/dev/full' '>&- 2>&- <&-'; do
    while read -r code arguments; do
      status=0
      eval "$SPDNN $arguments $stderr" || status=$?
      echo "$status: $arguments $stderr"
      [ "$status" -eq "$code" ]
    done <<'RUNS'
2
2 infre
2 infer --trials 0
3 infer --network missing.spdnn --inputs images.tsv
3 convert missing.spdnn out.spdnn
0 convert biased.spdnn text
RUNS
    [ -e text/n2-l2.tsv ]
    rm -r text
  done
  run bash -c '"$@" --truth wrong.tsv 2>&-' bash "${infer[@]}"
  [ "$status" -eq 1 ]
}

@test "messages do not go into a file that got the number of a closed stderr" {
  status=0
  "${infer[@]}" --truth missing.tsv --categories out.tsv 2>&- || status=$?
  [ "$status" -eq 3 ]
  "${infer[@]}" --categories out.tsv >report 2>&- <&-
  [ "$(cat out.tsv)" = $'1\n3' ]
}

@test "a stdout that is closed or full is a data error of every command that prints, help included" {
  for stdout in '>&-' '>/dev/full'; do
    while read -r arguments; do
      one_line 3 'spdnn: cannot write to stdout: *' bash -c "$SPDNN $arguments $stdout"
    done <<'RUNS'
--help
--version
variants
variants --help
infer --help
infer --network net --inputs images.tsv --bias -0.25
inspect net --bias -0.25
generate --help
generate network --family radixnet --neurons 64 --layers 2 --degree 8 --out made.spdnn
convert --help
bench --help
bench layers --help
bench layers --neurons 64 --degrees 4 --layers 1 --images 10 --trials 1 --variants cpu_openmp
RUNS
  done
}

@test "files are written though nobody reads stdout; then the program ends by SIGPIPE, silently" {
  mkfifo pipe
  no_reader() ( # runs a command with a pipe as stdout that nobody reads
    # shellcheck disable=SC2094
    exec 3<>pipe 4>pipe 3>&-
    "$@" >&4
  )
  status=0
  no_reader "${infer[@]}" --categories out.tsv --json run.json 2>stderr || status=$?
  [ "$status" -eq 141 ] && [ ! -s stderr ]
  [ "$(cat out.tsv)" = $'1\n3' ]
  jq -e .verdict run.json
  # A caller that ignores SIGPIPE wants a message.
  trap '' PIPE
  status=0
  no_reader "${infer[@]}" 2>stderr || status=$?
  [ "$status" -eq 3 ] && [ "$(cat stderr)" = 'spdnn: cannot write to stdout: Broken pipe' ]
}

@test "control characters and bytes that are no UTF-8 in names are shown as numbers" {
  one_line 3 'spdnn: a\\x0ab\\x1b\[31m\\xffé: cannot read: No such file or directory' \
    "$SPDNN" infer --network $'a\nb\e[31m\xffé' --inputs images.tsv
  one_line 2 "spdnn: 'in\\\\x0afer' is no command; see spdnn --help" "$SPDNN" $'in\nfer'
  "$SPDNN" convert net biased.spdnn --bias -0.25
  one_line 0 'spdnn: note: new\\x0aline does not hold all parameters; *' "$SPDNN" convert biased.spdnn $'new\nline'
}

@test "every option and name refuses an empty value" {
  while read -r arguments; do
    one_line 2 'spdnn: --*: the value is empty' bash -c "$SPDNN $arguments"
  done <<'RUNS'
infer --network '' --inputs images.tsv
infer --network net --inputs ''
infer --network net --mnist ''
infer --network net --inputs images.tsv --bias 0 --categories ''
infer --network net --inputs images.tsv --bias 0 --json ''
infer --network net --inputs images.tsv --bias 0 --truth ''
infer --network net --inputs images.tsv --bias ''
inspect ''
convert '' out
convert net ''
generate network --family radixnet --neurons 64 --layers 2 --out ''
generate inputs --family official --neurons 1024 --mnist '' --out x.spdnn
bench layers --json ''
RUNS
}

@test "bench layers refuses a negative time, and says what it could not write" {
  bench=("$SPDNN" bench layers --degrees 4 --alive 1 --layers 1 --images 10 --trials 1 --variants cpu_openmp)
  one_line 2 'spdnn: --seconds: -1 is negative' "${bench[@]}" --seconds -1
  one_line 3 'spdnn: none/x: *: No such file or directory' "${bench[@]}" --neurons 64 --json none/x
}
