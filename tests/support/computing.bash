# shellcheck shell=bash
# Loaded by tests that wait until ranks compute.

# compute PROCESS...: whether there is one at all, and each of them has computed for so long that it must be past its start, however
# busy the machine is. A rank's parent only guards it, and is not looked at.
compute() {
  local process parents
  [ $# -gt 0 ] || return 1
  parents=$(IFS=, && ps -o ppid= -p "$*") || return 1
  parents=" $(xargs <<<"$parents") "
  for process; do
    [[ $parents != *" $process "* ]] || continue
    [ "$(awk '{ sub(/^.*\) /, ""); print $12 + $13 }' "/proc/$process/stat")" -ge $((3 * $(getconf CLK_TCK) / 2)) ] || return 1
  done
}
