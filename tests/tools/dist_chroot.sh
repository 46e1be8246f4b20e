#!/usr/bin/env bash
# Tries the archive of `make dist` where nothing of this machine is: in a folder that has the archive and the C library of an
# old Debian and not one file more, in that Debian, with its Open MPI and its MPICH, and in Debian 12 by the commands of
# make/packaging/Dockerfile and spdnn.def. Each time the program makes a problem, infers and verifies it. An archive with CUDA
# says that there is no driver where one is asked for. Takes root, a Debian mirror, and some 3 minutes. Bullseye (glibc 2.31) is
# the oldest that mirrors have; make/portable/check.sh sees to 2.28.
# usage: dist_chroot.sh [ARCHIVE] [--old RELEASE] [--new RELEASE] [--keep]; the log of what is installed goes to build/dist_chroot
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
archive=$root/build/spdnn.tar.gz old=bullseye new=bookworm keep=
while [ $# -gt 0 ]; do
  case $1 in
    --old) old=$2 && shift 2 ;;
    --new) new=$2 && shift 2 ;;
    --keep) keep=1 && shift ;;
    -*) echo "usage: dist_chroot.sh [ARCHIVE] [--old RELEASE] [--new RELEASE] [--keep]" >&2 && exit 2 ;;
    *) archive=$(realpath "$1") && shift ;;
  esac
done
[ "$(id -u)" -eq 0 ] || { echo "dist_chroot.sh: takes root, for chroot" >&2 && exit 4; }
[ -r "$archive" ] || { echo "dist_chroot.sh: $archive is missing; make dist makes it" >&2 && exit 3; }
# shellcheck source=tests/tools/bare_root.sh
. "$root/tests/tools/bare_root.sh"
log=$root/build/dist_chroot
mkdir -p "$log"
folder=$(mktemp -d "${TMPDIR:-/tmp}/spdnn-dist.XXXXXX")
chmod 755 "$folder"
# shellcheck disable=SC2317 # called by the trap
cleanup() {
  unmount_all
  if [ -n "$keep" ]; then echo "kept: $folder"; else rm -rf --one-file-system "$folder"; fi
}
trap cleanup EXIT
failed=0

# expect WHAT PATTERN COMMAND...: runs it; reports whether it exits with 0 and prints a matching line.
expect() {
  local what=$1 pattern=$2 output
  shift 2
  if output=$("$@" 2>&1) && grep -qE "$pattern" <<<"$output"; then
    echo "ok      $what: $(grep -E "$pattern" <<<"$output" | head -n 1 | tr -s ' ')"
  else
    failed=1
    echo "FAILED  $what: $*"
    printf '%s\n' "$output"
  fi
}

problem=(--generate official --neurons 1024 --layers 120 --inputs /tmp/images.spdnn --verify all)
# try_program WHAT BASE: the installed program in a base, by its path.
try_program() {
  expect "$1, version" '^spdnn ' inside "$2" /opt/spdnn/bin/spdnn --version
  expect "$1, generate" '' inside "$2" /opt/spdnn/bin/spdnn generate inputs --family digits --neurons 1024 --images 500 --out /tmp/images.spdnn
  expect "$1, infer" '^verdict +PASSED' inside "$2" /opt/spdnn/bin/spdnn infer "${problem[@]}"
  expect "$1, an error that is thrown and caught" '^spdnn: .*no\.spdnn' not inside "$2" /opt/spdnn/bin/spdnn inspect /tmp/no.spdnn
}
# shellcheck disable=SC2317 # called by expect
not() { ! "$@"; }
# ranks BASE LAUNCHER COMMAND...: runs it on two ranks.
# shellcheck disable=SC2317 # called by expect
ranks() {
  inside "$1" env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
    timeout -k 2 120 "$2" -n 2 "${@:3}"
}
unpack() { mkdir -p "$1/opt/spdnn" "$1/tmp" && tar -xzf "$archive" -C "$1/opt/spdnn" --strip-components=1; }

make_base "$old" "$folder/old" >"$log/$old.log"
echo "$old: $(inside "$folder/old" ldd --version | sed -n 1p)"

# The C library alone: the libraries that the program needs, and the dynamic linker, by their names.
unpack "$folder/empty"
for library in lib64/ld-linux-x86-64.so.2 lib/x86_64-linux-gnu/lib{c.so.6,m.so.6,pthread.so.0,dl.so.2,rt.so.1}; do
  mkdir -p "$folder/empty/${library%/*}"
  cp "$folder/old$(inside "$folder/old" realpath "/$library")" "$folder/empty/$library"
done
mkdir "$folder/empty/proc"
mount_in "$folder/empty" proc
try_program "glibc of $old alone" "$folder/empty"
if inside "$folder/empty" /opt/spdnn/bin/spdnn --version | grep -q '^CUDA: *yes'; then
  expect "glibc of $old alone, CUDA without a driver" 'no NVIDIA driver is installed' \
    not inside "$folder/empty" /opt/spdnn/bin/spdnn infer "${problem[@]}" --device cuda
fi

unpack "$folder/old"
try_program "$old" "$folder/old"
expect "$old, plug-ins" 'mpich openmpi' inside "$folder/old" /opt/spdnn/bin/spdnn --version
expect "$old, jobs" '^sbatch .*/opt/spdnn/share/spdnn/jobs/infer\.sbatch' inside "$folder/old" /opt/spdnn/bin/spdnn-jobs infer --dry-run -- --network n
for mpi in openmpi mpich; do
  packages=$mpi
  [ "$mpi" = mpich ] || packages="openmpi-bin openssh-client"
  # shellcheck disable=SC2086
  install_in "$folder/old" $packages >>"$log/$old.log" 2>&1
  expect "$old, two ranks with $mpi" '^ranks +2 ' ranks "$folder/old" "mpirun.$mpi" /opt/spdnn/bin/spdnn infer "${problem[@]}" --threads 1
done

# The recipes of containers: the commands of docker and apptainer, in their base systems.
make_base "$new" "$folder/new" >"$log/$new.log"
for recipe in Dockerfile spdnn.def; do
  mkdir -p "$folder/new/tmp"
  rm -rf "$folder/new/opt/spdnn"
  cp "$archive" "$folder/new/tmp/spdnn.tar.gz"
  "$root/tests/tools/recipe_commands.py" "$root/make/packaging/$recipe" >"$folder/new/tmp/commands"
  expect "$new, $recipe" '' inside "$folder/new" env DEBIAN_FRONTEND=noninteractive sh -e /tmp/commands
  try_program "$new, $recipe" "$folder/new"
  expect "$new, $recipe, two ranks" '^ranks +2 ' ranks "$folder/new" mpirun /opt/spdnn/bin/spdnn infer "${problem[@]}" --threads 1
done
exit "$failed"
