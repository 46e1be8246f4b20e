#!/usr/bin/env bats
# The number of threads, and the way in which they wait for one another.

setup() {
  cd "$BATS_TEST_TMPDIR" || return 1
  unset OMP_WAIT_POLICY GOMP_SPINCOUNT OMP_NUM_THREADS
  "$SPDNN" generate model --family lenet5 --sparsity 0.9 --out model.onnx >/dev/null
  "$SPDNN" generate tensors --shape 4,1,28,28 --out images.npy >/dev/null
  infer=("$SPDNN" infer --model model.onnx --inputs images.npy --progress never)
}

# spins [VARIABLE=VALUE...]: prints the number of spins of libgomp's waiting threads before they sleep.
spins() { env "$@" OMP_DISPLAY_ENV=verbose "$SPDNN" variants 2>&1 >/dev/null | sed -n "s/.*GOMP_SPINCOUNT = '\(.*\)'.*/\1/p"; }

# spins_beside N: the same while N threads run, that of the program among them.
spins_beside() {
  printf '0.5 0.5 0.5 %s/999 4321\n' "$1" >loadavg
  export -f spins
  unshare --mount bash -c 'mount --bind loadavg /proc/loadavg && spins'
}

@test "how long waiting threads spin is what the user says where he does" {
  [ -n "$(spins GOMP_SPINCOUNT=1)" ] || skip "needs GCC's OpenMP as a shared library"
  [ "$(spins GOMP_SPINCOUNT=123456)" = 123456 ]
  [ "$(spins OMP_WAIT_POLICY=passive)" = 0 ]
  [ "$(spins OMP_WAIT_POLICY=active)" -gt 1000000 ]
  turns=$(spins) # 0 where the tests keep the machine busy
  echo "turns: $turns"
  [ "$turns" -eq 0 ] || [[ "$turns" -ge 500 && "$turns" -le 100000 ]] # libgomp's own number is 300000
}

@test "waiting threads spin for some tens of microseconds, and sleep at once where the machine is busy" {
  [ -n "$(spins GOMP_SPINCOUNT=1)" ] || skip "needs GCC's OpenMP as a shared library"
  unshare --mount true 2>/dev/null || skip "needs to be allowed to mount"
  processors=$(getconf _NPROCESSORS_ONLN)
  for running in 1 "$processors" $((2 * processors)); do
    turns=$(spins_beside "$running")
    echo "$running running: $turns turns"
    [ "$turns" -ge 500 ]
    [ "$turns" -le 100000 ]
  done
  for running in $((2 * processors + 1)) 5000; do
    [ "$(spins_beside "$running")" = 0 ]
  done
}

# limited MICROSECONDS COMMAND...: runs it in a new control group with that quota for each 100 ms.
limited() {
  local quota=$1 group mount=/sys/fs/cgroup
  shift
  if [ -f $mount/cgroup.controllers ]; then
    group=$mount/spdnn-test-$$
    mkdir "$group" 2>/dev/null || return 99
    echo "$quota 100000" >"$group/cpu.max" || { rmdir "$group"; return 99; }
  else
    group=$mount/cpu/spdnn-test-$$
    mkdir "$group" 2>/dev/null || return 99
    echo "$quota" >"$group/cpu.cfs_quota_us" || { rmdir "$group"; return 99; }
  fi 2>/dev/null
  local result=0
  (echo "$BASHPID" >"$group/cgroup.procs" && exec "$@") || result=$?
  rmdir "$group"
  return "$result"
}

@test "a control group's quota bounds the threads, the report says why, and --threads prevails" {
  [ "$(nproc)" -gt 1 ] || skip "needs two processors"
  limited 100000 true || skip "needs to be allowed to make control groups with a quota"
  run limited 60000 "${infer[@]}" --json run.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"1 thread: control group /sys/fs/cgroup/"*" limits the CPU time to 0.6 of $(nproc) processors"* ]]
  jq -e '.machine.threads == 1 and (.notes | any(startswith("1 thread: control group")))' run.json
  run limited 60000 "${infer[@]}" --threads 2 --json run.json
  [ "$status" -eq 0 ]
  [[ "$output" != *"control group"* ]]
  jq -e '.machine.threads == 2' run.json
  run "${infer[@]}" --json run.json
  [[ "$output" != *"control group"* ]]
}

@test "a quota bounds the threads of a network's run too" {
  [ "$(nproc)" -gt 1 ] || skip "needs two processors"
  limited 100000 true || skip "needs to be allowed to make control groups with a quota"
  "$SPDNN" generate network --family radixnet --neurons 64 --layers 3 --out network.spdnn >/dev/null
  "$SPDNN" generate inputs --family digits --neurons 64 --images 9 --out digits.spdnn >/dev/null
  run limited 100000 "$SPDNN" infer --network network.spdnn --inputs digits.spdnn --device cpu --json run.json
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" == *"1 thread: control group"* ]]
  jq -e '.machine.threads == 1' run.json
}
