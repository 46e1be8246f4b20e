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

# without_threads COMMAND...: as an ordinary user who may not start another thread; $SPDNN is then ./spdnn.
without_threads() {
  shared=$(mktemp -d) && chmod 755 "$shared"
  cp -rL "$SPDNN" net images.tsv "$shared"/ && mkdir -m 777 "$shared/out"
  local user=()
  [ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  local status=0
  "${user[@]}" bash -c 'cd "$1" && shift && ulimit -u 1 && exec "$@"' bash "$shared" "$@" || status=$?
  rm -rf "$shared"
  return "$status"
}

@test "where the system gives no thread, one does the work, and --threads that cannot be had is an error" {
  if ! without_threads true || [ "$(nproc)" -eq 1 ]; then skip "needs two processors, and to be an ordinary user or setpriv"; fi
  "$SPDNN" convert images.tsv net/images.spdnn --kind images --neurons 2
  run without_threads ./spdnn infer --network net --inputs net/images.spdnn --bias -0.25 --verify all
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *" 1 threads,"*PASSED* && "$output" != *libgomp* ]]
  while read -r arguments; do
    # shellcheck disable=SC2086
    run without_threads ./spdnn $arguments
    echo "$status: $output"
    [ "$status" -eq 0 ] && [[ "$output" != *libgomp* ]]
  done <<'RUNS'
convert net out/net.mtx.d --form mtx
inspect net --bias -0.25
generate network --family radixnet --neurons 64 --layers 6 --degree 16 --out out/r.spdnn
generate inputs --family digits --neurons 64 --images 50 --out out/i.spdnn
bench layers --neurons 64 --degrees 4 --layers 1 --images 10 --trials 1 --variants cpu_openmp
RUNS
  one_line 4 'spdnn: 2 threads are asked for, but the system gives only 1' \
    without_threads ./spdnn infer --network net --inputs images.tsv --bias -0.25 --threads 2
}

@test "more threads than any machine has processors are a usage error, and no crash where the environment asks for them" {
  for command in infer inspect; do
    one_line 2 'spdnn: --threads: 1025 is outside 1..1024' "$SPDNN" $command --network net --threads 1025
  done
  "${infer[@]}" --threads 1024 >report
  grep -q ' 1024 threads,' report
  for threads in 100000 2000000000; do
    OMP_NUM_THREADS=$threads "${infer[@]}" --verify all >report
    grep -q PASSED report
  done
}

@test "a library that ends the program is no verdict of wrong categories" {
  [ "$(nproc)" -gt 1 ] || skip "needs two processors"
  ulimit -v 2000000
  OMP_STACKSIZE=100G run "${infer[@]}"
  echo "$output"
  [ "$status" -eq 4 ]
  [[ "$output" == *libgomp*$'\n''spdnn: a library ended the program: no thread or no memory that it asked for' ]]
}
