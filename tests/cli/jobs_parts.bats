#!/usr/bin/env bats
# shellcheck disable=SC2016,SC2154  # code in single quotes is for `part`; support/jobs.bash sets variables
# The functions of the cluster jobs' scripts, each by itself.

setup() {
  load ../support/jobs
  make_site
  results=$site/build/cluster
  mkdir -p "$results/logs"
}

# part SCRIPTS CODE ARGUMENT...: runs code that uses what these scripts define.
part() {
  env --default-signal=INT bash -uo pipefail -c \
    'jobs=$PWD/jobs me=test; for script in $1; do . "jobs/$script.sh"; done; run=$2; shift 2; eval "$run"' - "$@"
}

@test "a command that fails is run again, as often as it may be, after pauses that double" {
  make_command sleep <<<'echo "$1" >>slept'
  make_command fails <<<'echo >>tried; [ "$(wc -l <tried)" -gt "$1" ]'
  for case in '1,0,0,1,' '1,1,1,1,' 3,2,0,3,1-2 3,3,1,3,1-2 5,9,1,5,1-2-4-8; do
    IFS=, read -r count failures code runs pauses <<<"$case"
    rm -f tried slept && : >slept
    run part try "try $count fails $failures"
    [ "$status" -eq "$code" ]
    [ "$(wc -l <tried)" -eq "$runs" ]
    [ "$(xargs <slept)" = "${pauses//-/ }" ]
  done
}

@test "a step has the exit code of its command, and is told to stop by SIGUSR1 alone, again and again, whatever the job is told by" {
  for code in 0 3 139; do
    run part again "run_step bash -c 'exit $code'"
    [ "$status" -eq "$code" ]
  done
  make_command launcher <<'END'
trap 'echo TERM >>got' TERM
trap 'echo USR1 >>got; [ "$(wc -l <got)" -lt 3 ] || exit 5' USR1
kill "-$1" "$PPID"
for _ in {1..400}; do sleep 0.05; done
END
  for case in USR1,no TERM,yes INT,yes; do
    rm -f got
    run part again "run_step launcher ${case%,*}; echo \"\$? \$stopping \${ended_from_outside:-no}\""
    [ "$output" = "5 yes ${case#*,}" ]
    [ "$(uniq <got)" = USR1 ]
    [ "$(wc -l <got)" -ge 3 ]
  done
}

@test "a step is not begun once the job has been told to stop" {
  for signal in USR1 TERM INT; do
    run part again "kill -$signal \$\$; run_step touch begun"
    [ "$status" -eq 5 ]
    [ ! -e begun ]
  done
}

@test "a result is one of this part where the file has come or changed since its begin" {
  has() {
    run part again "$1 begin_part run; $2 if has_result run; then echo yes; else echo no; fi"
    [ "$output" = "$3" ]
    rm -f run.json
  }
  has '' '' no
  has '' 'echo new >run.json;' yes
  has 'echo old >run.json;' '' no
  has 'echo old >run.json;' 'rm run.json;' no
  has 'echo old >run.json;' 'cp -p run.json next; mv next run.json;' yes
  has 'echo old >run.json;' 'touch -d "1 hour ago" run.json;' yes
  has 'echo old >run.checkpoint;' 'echo new >other.json;' no
}

@test "a signal or a limit of time that comes after the result leaves the code 0, and other codes stay" {
  run part again 'for code in 0 1 2 3 4 5 6 100 123 124 125 137 143; do code_with_result $code; done'
  [ "$(xargs <<<"$output")" = '0 1 2 3 4 0 6 100 123 0 0 0 0' ]
}

@test "a run gets further where its checkpoint leaves other work than at the stop before, and gives up after so many that do not" {
  # steps LIMIT LEFT...: for each, whether the run goes on, and the stops in a row without progress.
  steps() {
    part again 'limit=$1; for left in "${@:2}"; do
      if [ "$left" = none ]; then rm -f run.checkpoint
      else echo "{\"other\":$RANDOM,\"left\":[$left],\"activations\":\"$RANDOM\"}" >run.checkpoint; fi
      if gets_further run "$limit"; then echo -n "$fruitless "; else echo -n "end $fruitless "; fi
    done; [ ! -e run.requeues ] || echo notes' "$@"
  }
  [ "$(steps 2 9 9 9 9)" = '1 2 3 end 4 ' ]
  rm -f run.*
  [ "$(steps 2 9 9 9 9 9 9)" = '1 2 3 end 4 1 2 notes' ] # whoever submits it again has as many tries
  rm -f run.*
  [ "$(steps 2 9 9 9 8 8 8 7)" = '1 2 3 1 2 3 1 notes' ]
  rm -f run.*
  [ "$(steps 0 9 9)" = '1 end 2 ' ]
  rm -f run.*
  [ "$(steps 1 none none none)" = '1 2 end 3 ' ]
}

@test "a signal that reaches the ranks before the script is waited for" {
  make_command sleep <<<'[ "$1" = 2 ] && kill -TERM "$PPID"'
  echo '{"left":[1],"activations":null}' >run.checkpoint
  run part again 'begin_part run; end_part run 143 touch submitted'
  [ "$status" -eq 5 ]
  [ "$output" = 'jobs: ended from outside; submitted again, it continues' ]
  [ ! -e submitted ]
}

@test "options say whether a model is run, and where" {
  of() { part common "of_model $* && echo -n model; on_cpus $* && echo -n ' on processors'" || true; }
  [ "$(of --model m.onnx)" = 'model on processors' ]
  [ "$(of --batch 1 --model=m.onnx --device cpu)" = 'model on processors' ]
  [ "$(of --model m.onnx --device cuda)" = model ]
  [ "$(of --device=cuda --model=m.onnx)" = model ]
  [ "$(of --network n.spdnn)" = '' ]
  [ "$(of --models m.onnx --device cpu)" = '' ]
}

@test "settings may name files from the repository on, or by their whole path" {
  paths() { part common 'printf "%s\n" "$SPDNN_PROGRAM" "$SPDNN_DATA" "$SPDNN_RESULTS" "$SPDNN_MNIST" "$elements" "$sweep_images"'; }
  [ "$(paths)" = "$(printf '%s\n' "$site"/build/{spdnn,data,cluster} '' "$site/build/cluster/sweep.list" digits60000)" ]
  echo 'SPDNN_PROGRAM=/p SPDNN_DATA=/d SPDNN_RESULTS=/r SPDNN_MNIST=/m.gz' >>jobs/site.sh
  [ "$(paths)" = "$(printf '%s\n' /p /d /r /m.gz /r/sweep.list official)" ]
  echo 'SPDNN_PROGRAM=a/p SPDNN_DATA=d SPDNN_RESULTS=r SPDNN_MNIST=m.gz SPDNN_IMAGES=7' >>jobs/site.sh
  [ "$(paths)" = "$(printf '%s\n' "$site"/{a/p,d,r,m.gz,r/sweep.list} official)" ]
  cd /
  [ "$(env -C / bash -c 'jobs=$1/jobs; . "$jobs/common.sh"; echo "$SPDNN_RESULTS"' - "$site")" = "$site/r" ]
}

@test "a program says its commit, and whether it was built of changed files, in its first line" {
  rm build/spdnn
  for case in '(commit 0123456789ab)=0123456789ab false' '(commit 0123456789ab, modified)=0123456789ab true' '(commit unknown)=unknown false'; do
    make_command program <<<"[ \"\$*\" = --version ] && printf 'spdnn 0.1.0 %s\nMPI: 4 (commit f00, modified)\n' '${case%=*}'"
    cp bin/program build/spdnn
    [ "$(part common 'ask_program; echo "$commit $modified"')" = "${case#*=}" ]
  done
  for wrong in 'echo spdnn' 'echo; echo "spdnn (commit 0123456789ab)"' 'exit 3'; do
    make_command program <<<"$wrong"
    cp bin/program build/spdnn
    run part common ask_program
    [ "$status" -eq 4 ]
    [[ "$output" == "jobs/test: $site/build/spdnn --version "* ]]
  done
  for nothing in 'rm build/spdnn' 'mkdir build/spdnn' 'rmdir build/spdnn && : >build/spdnn'; do
    eval "$nothing"
    run part common ask_program
    [ "$status" -eq 3 ]
  done
}

@test "jobs in the queue are those of these results, by their line of the list" {
  echo "SPDNN_RESULTS='out +1 puts'" >>jobs/site.sh
  make_command squeue <<END
printf '%s\n' "\$@" >arguments
[ "\$(echo >>asked; wc -l <asked)" -gt "\$(cat failures)" ] || exit 1
echo '2 80 PENDING $site/out +1 puts +0'
echo '12 81 RUNNING $site/out +1 puts +1000'
echo 'N/A  82   COMPLETING $site/out +1 puts +0'
echo '3 83 RUNNING $site/out'
echo '3 84 RUNNING $site/out +1 puts'
echo '3 85 RUNNING $site/out +1 puts +0 more'
echo '3 86 RUNNING $site/out +1 puts/more +0'
echo '3 87 RUNNING (null)'
END
  for failures in 0 2; do
    rm -f asked
    echo "$failures" >failures
    [ "$(part common queued)" = "$(printf '%s\t%s\t%s\n' 2 80_2 PENDING 1012 81_12 RUNNING N/A 82 COMPLETING)" ]
    [ "$(cat arguments)" = "$(printf '%s\n' --me --noheader --array --name=spdnn-sweep,spdnn-infer '--format=%K %F %T %k')" ]
  done
  rm asked
  echo 3 >failures
  run part common queued
  [ "$status" -eq 4 ]
  [ "$output" = 'jobs/test: squeue failed' ]
  run part common 'command() { [ "$2" != squeue ]; }; queued' # a machine without Slurm
  [ "$status$output" = 0 ]
}

@test "modules are loaded all at once, and what cannot be is an error of the machine" {
  loads() { part common "module() { $1; }; load_modules; set -o | grep -c 'nounset.*on'"; }
  [ "$(loads 'echo none')" = 1 ]
  echo "SPDNN_MODULES=(gcc/12 'my mpi')" >>jobs/site.sh
  [ "$(loads 'echo "$# $* ${unset_by_site+}$undefined"')" = "$(printf '%s\n' '3 load gcc/12 my mpi ' 1)" ]
  run loads 'return 1'
  [ "$status" -eq 4 ]
  [ "$output" = 'jobs/test: module load gcc/12 my mpi failed' ]
  run part common load_modules
  [ "$status" -eq 4 ]
  [[ "$output" == "jobs/test: jobs/site.sh names modules to load, "* ]]
}

@test "a line with any one byte gone is a result or not, as a JSON reader says" {
  mkdir lines
  python3 - <<'END'
import json
line = ('{"schema":"spdnn-model-1","model":{"name":"a\\"b\\\\","nodes":3},"x":[1,-2.5e-07,[],{},true,false,null,""],'
        '"verdict":{"status":"PASSED","against":"e"}}\n')
say = open("expected", "w")
for place in range(-1, len(line) - 1):
    text = line if place < 0 else line[:place] + line[place + 1:]
    open(f"lines/{place + 100:03}.json", "w").write(text)
    try:
        found = json.loads(text)
        whole = isinstance(found, dict)
    except ValueError:
        whole = False
    if not whole:
        why = "its result is no whole line of JSON"
    elif found.get("schema") not in ("spdnn-run-1", "spdnn-model-1"):
        why = f'its result has the schema {found.get("schema", "-")}, expected spdnn-run-1 or spdnn-model-1'
    elif found.get("verdict", {}).get("status") not in ("PASSED", "UNVERIFIED", "FAILED"):
        why = "its result has no verdict"
    else:
        continue
    say.write(f"lines/{place + 100:03}.json\t{why}\n")
END
  part common 'complaints lines/*.json' | diff expected -
  [ -z "$(part common complaints)" ]
}

@test "bytes that a terminal may interpret are shown as question marks, and no others" {
  python3 -c '
import sys
every = bytes(range(1, 256)) + b"".join(bytes((0xc2, low)) for low in range(0x80, 0xc0)) + b"\n"
hidden = {*range(1, 9), *range(11, 32), 127}
shown = bytearray()
place = 0
while place < len(every):
    if every[place] == 0xc2 and 0x80 <= every[place + 1] < 0xa0:
        shown += b"?"
        place += 1
    else:
        shown.append(63 if every[place] in hidden else every[place])
    place += 1
open("every", "wb").write(every)
open("shown", "wb").write(shown)'
  part 'common table' 'printable <every' | cmp - shown
}

@test "a log has the lines of each start of its job, of which those of the last count" {
  export SLURM_JOB_ID=7 SLURM_JOB_NAME=spdnn-infer SLURM_NTASKS=6 SLURM_JOB_NODELIST=n0 SLURM_RESTART_COUNT
  for SLURM_RESTART_COUNT in '' 1; do
    part 'common run' "trap - EXIT; begin my-run; echo of $SLURM_RESTART_COUNT" >>"$results/logs/spdnn-infer-7.log"
  done
  [ "$(part 'common run' 'trap - EXIT; log_of_start')" = "$(printf '%s\n' 'jobs: my-run, job 7, start 2, 6 ranks on n0' 'of 1')" ]
}

@test "the queue, failures and missing elements are listed, each once" {
  printf '%s\n' 'queue|2|70_2|PENDING' 'queue|5|70_5|RUNNING' 'queue|N/A|71|PENDING' 'element|a' 'element|b' 'element|c' 'element|d' \
    'element|e' 'result|a' 'failed|b|w1' 'failed|c|w2' 'failed|x|w (job 71, log l)' 'failed|y|w (job 72, log l)' 'failed|c|w3' |
    tr '|' '\t' >facts
  run awk -f jobs/unfinished.awk facts
  [ "$status" -eq 1 ]
  echo "$output"
  [ "$(LC_ALL=C sort <<<"$output")" = "$(printf '%s\n' 'failed: c: w3' 'failed: y: w (job 72, log l)' 'in the queue: 1 RUNNING' \
    'in the queue: 2 PENDING' 'missing: d: no result, and not in the queue')" ]
  { grep -vP '^failed\t[cy]' facts && printf 'result\t%s\n' c d; } >fine
  run awk -f jobs/unfinished.awk fine
  [ "$status" -eq 0 ]
  [ "$(wc -l <<<"$output")" -eq 2 ]
}
