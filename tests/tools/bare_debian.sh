#!/usr/bin/env bash
# The README's first steps as a newcomer takes them, in a bare Debian 12: debootstrap makes one, the commit is cloned into
# it, without MNIST and without data beside it, and `make demo` and `make test` run there. Prints for each command its exit
# status, wall time, processor time and the largest memory of one process, and every skipped test with its reason; the
# logs stay in OUT. Takes root, a Debian mirror, and some 15 minutes on two processors.
# usage: bare_debian.sh [--out OUT] [--commit COMMIT] [--keep]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$root/build/bare_debian
commit=HEAD
keep=
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2 && shift 2 ;;
    --commit) commit=$2 && shift 2 ;;
    --keep) keep=1 && shift ;;
    *) echo "usage: bare_debian.sh [--out OUT] [--commit COMMIT] [--keep]" >&2 && exit 2 ;;
  esac
done
[ "$(id -u)" -eq 0 ] || { echo "bare_debian.sh: takes root, for chroot" >&2 && exit 4; }
# shellcheck source=tests/tools/bare_root.sh
. "$root/tests/tools/bare_root.sh"
mkdir -p "$out"
bare=$(mktemp -d "${TMPDIR:-/tmp}/spdnn-bare.XXXXXX")
chmod 755 "$bare" # tests run programs as nobody
# shellcheck disable=SC2317 # called by the trap
cleanup() {
  unmount_all
  if [ -n "$keep" ]; then echo "kept: $bare"; else rm -rf --one-file-system "$bare"; fi
}
trap cleanup EXIT
make_base bookworm "$bare" >"$out/debootstrap.log"

# A newcomer's tools: git and make; and GNU time for the measurements.
install_in "$bare" git make time >"$out/prerequisites.log" 2>&1
git clone -q --no-hardlinks "$root" "$bare/root/spdnn"
git -C "$bare/root/spdnn" checkout -q "$(git -C "$root" rev-parse "$commit")"
rm -rf "$bare/root/spdnn/build"

status=0
for target in demo test; do
  inside "$bare" /usr/bin/time -o /root/time -f '%e %U %S %M' make -C /root/spdnn "$target" >"$out/$target.log" 2>&1 </dev/null || status=1
  awk -v target="$target" 'END {
    printf "make %-5s  %s  wall %.0f s  processor %.0f s  largest process %.0f MB\n", target,
      failed ? "FAILED" : "done", $1, $2 + $3, $4 / 1024 }
    /^Command exited/ { failed = 1 }' "$bare/root/time"
done
# A test that skips for want of a package that `make test` installs is a test that was lost on the way.
sed -n 's/^skipped: .*# skip *\(.*\)/\1/p; s/^skipped: \([A-Z][A-Za-z0-9_]*\..*\)/unit test \1/p' "$out/test.log" | sort | uniq -c | sort -rn
tail -n 1 <(grep -E '^[0-9]+ passed, ' "$out/test.log")
exit "$status"
