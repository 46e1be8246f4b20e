#!/usr/bin/env bash
# Sees to it that what is needed is there, by whatever means it came. What is missing is installed where Debian's packages
# can be; otherwise the script says what to do and fails. usage: [CXX=COMPILER] install_packages.sh PACKAGE[=PROOF]...
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
echo "installing ${packages[*]}" >&2
export DEBIAN_FRONTEND=noninteractive
exec 9<"$0" && flock 9 # one at a time: make may run several of us at once
install() { apt-get -qq install -y --no-install-recommends "${packages[@]}" >/dev/null; }
install 2>/dev/null || { apt-get -qq update && install; }
