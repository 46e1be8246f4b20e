#!/usr/bin/env bats
# Exit codes and messages where the system fails: streams, threads, memory, names. Whatever happens, the exit code is one
# of those documented, and an error is one line on stderr.

load ../support/sampled

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

# as_user COMMAND...: runs it as a user who is not root, in a directory with copies of spdnn and of all test files.
as_user() {
  local shared user=() status=0
  shared=$(mktemp -d) && chmod 777 "$shared"
  cp -rL "$SPDNN" ./* "$shared"/
  [ "$(id -u)" -ne 0 ] || user=(setpriv --reuid 65534 --regid 65534 --clear-groups)
  # shellcheck disable=SC2016
  "${user[@]}" bash -c 'cd "$1" && shift && exec "$@"' bash "$shared" "$@" || status=$?
  chmod -R u+rwX "$shared" && rm -r "$shared"
  return "$status"
}

# without_threads COMMAND...: runs it as such a user, who may not start another thread.
without_threads() {
  # shellcheck disable=SC2016
  as_user bash -c 'ulimit -u 1 && exec "$@"' bash "$@"
}

@test "a stderr that is closed or full changes no exit code" {
  "$SPDNN" convert net biased.spdnn --bias -0.25
  printf '1\n2\n' >wrong.tsv
  mkdir noted
  : >noted/n4-l1.tsv
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
0 convert noted noted.spdnn --bias 0
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
RUNS
  done
  one_line 3 'spdnn: cannot write to stdout: *' bash -c \
    "$SPDNN bench layers --neurons 64 --degrees 4 --layers 1 --images 10 --trials 1 --variants cpu_openmp >/dev/full"
}

# no_reader COMMAND...: runs it with a pipe as stdout that nobody reads.
no_reader() (
  [ -p pipe ] || mkfifo pipe
  # shellcheck disable=SC2094
  exec 3<>pipe 4>pipe 3>&-
  "$@" >&4
)

@test "files are written though nobody reads stdout; then the program ends by SIGPIPE, silently" {
  status=0
  no_reader "${infer[@]}" --categories out.tsv --json run.json 2>stderr || status=$?
  [ "$status" -eq 141 ]
  [ ! -s stderr ]
  [ "$(cat out.tsv)" = $'1\n3' ]
  jq -e .verdict run.json
  # A caller that ignores SIGPIPE wants a message.
  trap '' PIPE
  status=0
  no_reader "${infer[@]}" 2>stderr || status=$?
  [ "$status" -eq 3 ]
  [ "$(cat stderr)" = 'spdnn: cannot write to stdout: Broken pipe' ]
}

@test "files are written though nobody reads what - sends to stdout; then the program ends by SIGPIPE" {
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out m.onnx >made
  "$SPDNN" generate tensors --shape 2,1,28,28 --out i.npy >made
  model=("$SPDNN" infer --model m.onnx --inputs i.npy)
  # ends_by_pipe FILES COMMAND...: the files are there afterwards.
  ends_by_pipe() {
    local files=$1 status=0
    shift
    # shellcheck disable=SC2086  # words are meant
    rm -f $files
    no_reader "$@" 2>stderr || status=$?
    [ "$status" -eq 141 ] || { echo "status $status: $(cat stderr)"; return 1; }
    run grep '^spdnn: ' stderr
    [ "$status" -eq 1 ] || { echo "$output"; return 1; }
    # shellcheck disable=SC2086
    ls $files
  }
  ends_by_pipe run.json "${infer[@]}" --categories - --json run.json
  ends_by_pipe out.tsv "${infer[@]}" --categories out.tsv --json -
  ends_by_pipe "run.json p.npy" "${model[@]}" --logits - --predictions p.npy --json run.json
  ends_by_pipe "run.json l.npy" "${model[@]}" --logits l.npy --predictions - --json run.json
  ends_by_pipe "l.npy p.npy" "${model[@]}" --logits l.npy --predictions p.npy --json -
  ends_by_pipe page.html "$SPDNN" inspect m.onnx --json - --html page.html
  ends_by_pipe "" "$SPDNN" report run.json --out -
  [ -z "$(find . -name '.spdnn-*')" ]
  status=0
  (trap '' PIPE; no_reader "${infer[@]}" --categories - --json run.json) 2>stderr || status=$?
  [ "$status" -eq 3 ]
  grep -qx 'spdnn: cannot write to stdout: Broken pipe' stderr
}

@test "control characters and bytes that are not UTF-8 in names are shown as numbers" {
  one_line 3 'spdnn: a\\x0ab\\x1b\[31m\\xffé: cannot read: No such file or directory' \
    "$SPDNN" infer --network $'a\nb\e[31m\xffé' --inputs images.tsv
  one_line 2 "spdnn: 'in\\\\x0afer' is not a command; did you mean infer?; see spdnn --help" "$SPDNN" $'in\nfer'
  "$SPDNN" convert net biased.spdnn --bias -0.25
  one_line 0 'spdnn: note: new\\x0aline does not contain all parameters; *' "$SPDNN" convert biased.spdnn $'new\nline'
  mkdir $'an\e[31m'
  : >$'an\e[31m/n4-l1.tsv'
  one_line 0 'spdnn: note: an\\x1b\[31m/n4-l1.tsv: the file is empty: a layer without edges' \
    "$SPDNN" convert $'an\e[31m' noted.spdnn --bias 0
}

@test "names that cannot be looked up are data errors that name the file and the reason" {
  "$SPDNN" convert net net.spdnn --bias -0.25
  "$SPDNN" convert images.tsv images.spdnn --kind images --neurons 2
  long=$(printf 'long%.0s' {1..80})
  for ending in $(sampled '.spdnn' '.tsv .spdnn') ''; do
    ln -s "loop$ending" "loop$ending"
    for bad in "loop$ending:Too many levels of symbolic links" "$long$ending:File name too long"; do
      while read -r command; do
        # shellcheck disable=SC2086
        one_line 3 "spdnn: ${bad%:*}: cannot *: ${bad#*:}" "$SPDNN" ${command/BAD/${bad%:*}}
      done <<'RUNS'
infer --network BAD --inputs images.spdnn
infer --network net.spdnn --inputs images.spdnn --truth BAD
infer --network net.spdnn --inputs images.spdnn --categories BAD
infer --network net.spdnn --inputs images.spdnn --json BAD
inspect BAD
inspect net.spdnn --html BAD
inspect net.spdnn --html out.html --run BAD
convert BAD out.spdnn
convert net.spdnn BAD --form packed
bench layers --neurons 64 --degrees 4 --layers 1 --images 10 --trials 1 --variants cpu_openmp --json BAD
RUNS
    done
  done
}

@test "directories and files that one may not read are data errors that name the file and the reason" {
  as_user true || skip "needs setpriv, or to be a user other than root"
  "$SPDNN" convert net net.spdnn --bias -0.25
  "$SPDNN" convert images.tsv images.spdnn --kind images --neurons 2
  while read -r mode bad command; do
    # shellcheck disable=SC2016
    one_line 3 "spdnn: $bad: cannot read: Permission denied" as_user bash -c \
      'mkdir locked && cp -r net net.spdnn locked/ && chmod "$1" locked && exec ./spdnn $2' bash "$mode" "${command/BAD/$bad}"
  done <<'RUNS'
0 locked/net infer --network BAD --inputs images.spdnn --bias 0
0 locked/net.spdnn infer --network BAD --inputs images.spdnn
0 locked infer --network BAD --inputs images.spdnn --bias 0
300 locked inspect BAD --bias 0
0 locked/net convert BAD out.spdnn
0 locked/net.spdnn infer --network net.spdnn --inputs BAD
RUNS
}

@test "pipes where files are needed, files beyond the limit and too many open files are errors that say so" {
  "$SPDNN" convert net net.spdnn --bias -0.25
  # shellcheck disable=SC2016
  one_line 3 'spdnn: /dev/stdout: cannot write: it is a pipe, expected a file: *' \
    bash -o pipefail -c '"$1" convert net.spdnn /dev/stdout --form packed | cat' bash "$SPDNN"
  (
    ulimit -f 1
    one_line 3 'spdnn: big.spdnn: cannot write: File too large' \
      "$SPDNN" generate network --family random --neurons 1024 --layers 1 --degree 8 --out big.spdnn
  )
  [ ! -e big.spdnn ]
  # shellcheck disable=SC2016
  one_line 4 'spdnn: *: cannot *: Too many open files' \
    bash -c 'exec 3>&- && ulimit -n 4 && exec "$@"' bash "$SPDNN" convert net out --form mtx
}

@test "arguments with placeholders of messages in them are refused as others are" {
  one_line 2 "spdnn: unrecognised option '--s'; usage: *" timeout 600 "$SPDNN" infer "--s='%canonical_option%'"
  one_line 2 "spdnn: unrecognised option '--%prefix%'; usage: *" timeout 600 "$SPDNN" infer '--%prefix%'
  one_line 2 "spdnn: unrecognised option '--'; usage: *" timeout 600 "$SPDNN" infer '--=%option%'
  one_line 2 "spdnn: option '--compare' does not take any arguments; usage: *" \
    timeout 600 "$SPDNN" infer '--compare=%canonical_option%'
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
inspect net --bias 0 --html ''
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

@test "where the system gives no thread, one does the work, and --threads that cannot be had is an error" {
  if ! without_threads true || [ "$(nproc)" -eq 1 ]; then skip "needs two processors, and setpriv or to be a user other than root"; fi
  "$SPDNN" convert images.tsv net/images.spdnn --kind images --neurons 2
  run without_threads ./spdnn infer --network net --inputs net/images.spdnn --bias -0.25 --verify all
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *" 1 thread,"*PASSED* && "$output" != *libgomp* ]]
  while read -r arguments; do
    # shellcheck disable=SC2086
    run without_threads ./spdnn $arguments
    echo "$status: $output"
    [ "$status" -eq 0 ]
    [[ "$output" != *libgomp* ]]
  done <<'RUNS'
convert net out --form mtx
inspect net --bias -0.25
generate network --family radixnet --neurons 64 --layers 6 --degree 16 --out r.spdnn
generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
bench layers --neurons 64 --degrees 4 --layers 1 --images 10 --trials 1 --variants cpu_openmp
RUNS
  one_line 4 'spdnn: 2 threads are requested, but the system allows only 1' \
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
  "$SPDNN" generate model --family mobilenet --out model.spdnn >/dev/null
  "$SPDNN" generate tensors --shape 1,3,224,224 --out image.npy >/dev/null
  ulimit -v 2000000
  OMP_STACKSIZE=100G run "$SPDNN" infer --model model.spdnn --inputs image.npy
  echo "$output"
  [ "$status" -eq 4 ]
  [[ "$output" == *libgomp*$'\n''spdnn: a library ended the program: it could not get a thread or memory' ]]
}

# ends_right_or_without_memory COMMAND...: it must end with 0 and nothing on stderr, or with 4 and one line, which a line
# of a library may precede.
ends_right_or_without_memory() {
  local status=0 last
  "$@" >stdout 2>stderr || status=$?
  last=$(tail -n 1 stderr)
  cat stderr >>messages
  [ "$status" -eq 0 ] && [ ! -s stderr ] && return
  [ "$status" -eq 4 ] && [[ $last == 'spdnn: '* ]] && [ "$(grep -cv -e libgomp -e '^$' stderr)" -eq 1 ] && return
  printf '%s: %s\n' "$status" "$*" && cat stderr && return 1
}

# make_failing_memory: failing_memory.so, and a network and images to run with it.
make_failing_memory() {
  local compiler
  compiler=$(type -P gcc cc clang | head -n 1)
  [ -n "$compiler" ] || skip "needs a C compiler"
  "$compiler" -shared -fPIC -O1 -o failing_memory.so "$BATS_TEST_DIRNAME/../tools/failing_memory.c"
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 3 --degree 16 --bias -0.2 --out r.spdnn
  "$SPDNN" generate inputs --family digits --neurons 64 --images 40 --out i.spdnn
}

@test "no memory, at whatever place, is exit code 4 with one line" {
  make_failing_memory
  local runs
  runs=$(sampled 3 8)
  "$SPDNN" convert r.spdnn text 2>note
  "$SPDNN" convert i.spdnn sparse-images-64.tsv.gz
  while read -r most arguments; do
    for ((number = 1; number < most; number += 1 + most / runs)); do
      for which in FAIL_FROM FAIL_ONLY; do
        # shellcheck disable=SC2086
        ends_right_or_without_memory env "LD_PRELOAD=$PWD/failing_memory.so" "$which=$number" "$SPDNN" $arguments
      done
    done
  done <<'RUNS'
1200 infer --network r.spdnn --inputs i.spdnn --categories c.tsv --json j.json --verify all --compare --progress never
1000 infer --network text --bias -0.2 --inputs sparse-images-64.tsv.gz --progress never
900 convert text out.spdnn --bias -0.2 --plan all --progress never
700 generate network --family radixnet --neurons 64 --layers 3 --degree 16 --out made
500 inspect r.spdnn
450 inspect text --bias -0.2 --progress never
RUNS
  names_what_was_read 'text.*' convert text out.spdnn --bias -0.2 --progress never
  names_what_was_read 'r.spdnn' inspect r.spdnn
}

# names_what_was_read PATTERN ARGUMENTS...: where one request for memory fails, spdnn names the file that it was reading,
# for at least one of the requests.
names_what_was_read() {
  local pattern=$1 number
  shift
  for ((number = 1; number < 1200; number += $(sampled 20 7))); do
    env "LD_PRELOAD=$PWD/failing_memory.so" "FAIL_ONLY=$number" "$SPDNN" "$@" >out 2>stderr || true
    grep -qx "spdnn: $pattern: cannot read: out of host memory" stderr && return
  done
  return 1
}

@test "a result that is there is printed and written although verifying runs out of memory" {
  make_failing_memory
  # A batch that was not asked for would be begun again in halves.
  infer=("$SPDNN" infer --network r.spdnn --inputs i.spdnn --device cpu --progress never --batch 40)
  step=$(sampled 40 7)
  "${infer[@]}" --categories right.tsv >/dev/null
  for what in --compare "--verify all"; do
    found=0
    # shellcheck disable=SC2086
    env "LD_PRELOAD=$PWD/failing_memory.so" COUNT_REQUESTS=count "${infer[@]}" $what --categories c.tsv --json j.json >out
    most=$(cat count)
    # Options, reading and inferring take the first four fifths of them, and what is printed the last twentieth.
    for ((number = most * 4 / 5; number < most * 19 / 20; number += step)); do
      rm -f c.tsv j.json
      status=0
      # shellcheck disable=SC2086
      env "LD_PRELOAD=$PWD/failing_memory.so" "FAIL_ONLY=$number" "${infer[@]}" $what --categories c.tsv --json j.json \
        >out 2>stderr || status=$?
      [ "$status" -eq 4 ] && [ -e j.json ] || continue
      found=$((found + 1))
      grep -q '^verdict .*UNVERIFIED: ' out
      cmp c.tsv right.tsv
      jq -e '.verdict.status == "UNVERIFIED"' j.json
      [ "$(grep -c '^spdnn: .*out of host memory$' stderr)" -eq 1 ]
    done
    [ "$found" -gt 0 ]
  done
}

@test "little address space is enough, or exit code 4 with one line" {
  "$SPDNN" generate network --family random --neurons 20000 --layers 2 --degree 16 --bias -0.2 --out r.spdnn
  printf '1\t1\t1\n2\t20000\t1\n' >i.tsv
  for kilobytes in $(sampled '35000 70000' '25000 35000 50000 70000 100000 150000'); do
    (
      ulimit -v $kilobytes
      "$SPDNN" --version >/dev/null 2>&1 || exit 0 # the libraries do not fit
      ends_right_or_without_memory "$SPDNN" infer --network r.spdnn --inputs i.tsv --images 20000
      ends_right_or_without_memory "$SPDNN" convert r.spdnn planned.spdnn --plan all
      ends_right_or_without_memory "$SPDNN" generate network --family random --neurons 300000 --layers 1 --degree 8 --out big.spdnn
    )
  done
  grep 'out of host memory' messages
}
