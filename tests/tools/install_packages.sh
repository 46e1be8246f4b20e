#!/usr/bin/env bash
# Ensures that the packages are there, by whatever means they came. Missing ones are installed where Debian's packages
# can be; otherwise the script prints a remedy and fails. usage: [CXX=COMPILER] install_packages.sh PACKAGE[=PROOF]...
# PROOF is a header, a file with its absolute path, or a command; without it, the command has the package's name.
set -euo pipefail
read -ra compiler <<<"${CXX:-g++}"

# missing PACKAGE[=PROOF]...: prints those whose proof is not found. The compiler looks for all headers at once; where it
# cannot run, none is found.
missing() {
  local need proof question='' absent=''
  for need in "$@"; do
    proof=${need#*=}
    case $proof in
      /*) [ -e "$proof" ] || echo "$need" ;;
      *.h | *.hpp) question+=$(printf '#if !__has_include(<%s>)\n"%s"\n#endif' "$proof" "$need")$'\n' ;;
      *) command -v "$proof" >/dev/null || echo "$need" ;;
    esac
  done
  absent=$("${compiler[@]}" -x c++ -E -P - <<<"$question" 2>/dev/null) || absent=$question
  sed -n 's/^"\(.*\)"$/\1/p' <<<"$absent"
}

mapfile -t needs < <(missing "$@")
[ ${#needs[@]} -gt 0 ] || exit 0
packages=("${needs[@]%%=*}")
if [ "$(id -u)" -ne 0 ] || ! command -v apt-get >/dev/null; then
  printf 'missing: %s\n' "${needs[@]#*=}" >&2
  echo "On Debian, run this once, then make again:" >&2
  echo "  sudo apt-get install -y --no-install-recommends ${packages[*]}" >&2
  exit 1
fi
export DEBIAN_FRONTEND=noninteractive
# One of us at a time, whichever make runs it; another program that has the lock of apt or dpkg is waited for.
exec 9>/run/lock/spdnn-packages.lock && flock 9
apt() { apt-get -o DPkg::Lock::Timeout=600 "$@"; }

# install: its log goes to $log; the numbers of fetched and installed packages are shown meanwhile.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
install() {
  apt -q install -y --no-install-recommends "${packages[@]}" 2>&1 | tee "$log" | awk '
    function progress(what, n) { printf "  %s %d of %d packages\n", what, n, all; fflush() }
    / newly installed/ { all = $1 + $3 }
    /^Need to get/ { print "  " $0; fflush() }
    /^Get:/ && ++fetched % 50 == 0 { progress("fetched", fetched) }
    /^Setting up/ && (++ready % 50 == 0 || ready == all) { progress("set up", ready) }' >&2
}
echo "installing ${packages[*]}" >&2
# apt's list of packages may be missing or too old: it is updated then.
install || { tries=0; until apt -q update >"$log" 2>&1 || [ $((tries += 1)) -ge 5 ]; do sleep 5; done; install; } || {
  cat "$log" >&2
  exit 1
}
