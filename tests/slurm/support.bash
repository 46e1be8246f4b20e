# shellcheck shell=bash disable=SC2034,SC2154
# Loaded by the tests in Slurm: a site of their own, as a user would set it up, and waiting with an end.

load ../support/computing
load ../support/within

# Makes a site in a directory with a blank in its name, and goes there. The images are few, the runs those of the CPU.
make_site() {
  site="$BATS_TEST_TMPDIR/my site"
  mkdir -p "$site/build"
  cd "$site" || return 1
  cp -r "$BATS_TEST_DIRNAME/../../jobs" .
  ln -s "$SPDNN" build/spdnn
  edit SPDNN_CPUS_PER_TASK=1 SPDNN_TIME_LIMIT=50 SPDNN_IMAGES=100
  results=$site/build/cluster
}

# edit ASSIGNMENT...: what a user does to site.sh.
edit() { printf '%s\n' "$@" >>jobs/site.sh; }

# within_limit COMMAND...: waits until it succeeds.
within_limit() {
  within 1800 "$@" && return
  echo "not within 1800 s: $*"
  return 1
}

# submit ARGUMENT...: submits by submit.sh and sets `job`.
submit() {
  local said
  said=$(timeout 900 jobs/submit.sh "$@")
  echo "$said"
  job=$(sed -nE 's/^job ([0-9]+);.*/\1/p' <<<"$said")
}

# Waits until nothing is in the queue, and shows the table, with its exit code in `status`.
table() {
  run timeout 3600 jobs/submit.sh table --wait
  echo "$output"
}

state_of() { scontrol --oneliner show job "$1" | grep -o ' JobState=[A-Z]*' | cut -d= -f2; }
restarts_of() { scontrol --oneliner show job "$1" | grep -o ' Restarts=[0-9]*' | cut -d= -f2; }
is_in() { [ "$(state_of "$1")" = "$2" ]; }
is_requeued() { [ "$(restarts_of "$1")" -eq 1 ]; }
has_failed() { [[ $(state_of "$1") =~ ^(FAILED|TIMEOUT)$ ]]; }

# until_job JOB CONDITION: waits for the condition, but no longer once the job has failed.
is_decided() { "$2" "$1" || has_failed "$1"; }
until_job() { within_limit is_decided "$1" "$2" && "$2" "$1"; }
until_requeued() { until_job "$1" is_requeued; }

# Sets `types`, the --mpi of srun for each MPI library that the program was built for. Skips the test where there is none.
find_types() {
  types=()
  [ ! -e "$(dirname "$SPDNN")/spdnn-openmpi.so" ] || types+=(pmix)
  [ ! -e "$(dirname "$SPDNN")/spdnn-mpich.so" ] || types+=(pmi2)
  [ ${#types[@]} -gt 0 ] || skip "the program was built without MPI"
}

# Makes the images of tests whose runs are stopped, and `truth`, their categories.
make_problem() {
  "$SPDNN" generate inputs --family digits --neurons 1024 --images 2000 --seed 5 --out images.spdnn
  problem=(--generate official --neurons 1024 --layers 240 --inputs images.spdnn)
  "$SPDNN" infer "${problem[@]}" --categories truth.tsv >/dev/null
  # The reference engine, with --reduce none, takes seconds for it.
  problem+=(--truth truth.tsv --variant cpu_reference --reduce none)
}

# Prints the processes of a job, or of ARRAY_INDEX, that run `spdnn infer` in this test.
processes_of() {
  local process environment command
  for process in $(pgrep -x spdnn); do
    [ "$(readlink "/proc/$process/cwd")" = "$site" ] || continue
    mapfile -d '' -t command <"/proc/$process/cmdline" || continue
    environment=$(tr '\0' '\n' <"/proc/$process/environ") || continue
    [ "${command[1]:-}" = infer ] || continue
    grep -qx "SLURM_ARRAY_JOB_ID=${1%_*}" <<<"$environment" || grep -qx "SLURM_JOB_ID=${1%_*}" <<<"$environment" || continue
    [[ $1 != *_* ]] || grep -qx "SLURM_ARRAY_TASK_ID=${1#*_}" <<<"$environment" || continue
    echo "$process"
  done
}

nothing_is_left() { [ -z "$(find "$results" -name '*.checkpoint*' -o -name '*.requeues' -o -name '*.failed' -o -name '*.errors')" ]; }

# computes JOB: whether each of its ranks does.
computes() {
  local all
  mapfile -t all < <(processes_of "$1")
  compute "${all[@]}"
}
until_it_computes() { until_job "$1" computes; }

teardown() {
  local log
  for log in "$site"/build/cluster/logs/*.log; do
    if [ -e "$log" ]; then echo "== $log" && cat "$log"; fi
  done
  timeout 600 scancel --partition=test --partition=urgent
}
