#!/usr/bin/env bash
# Checks that programs and shared objects run with glibc 2.28: none may need a symbol of a newer version, nor a library
# other than glibc's own and, for a plug-in, its MPI library. Prints what each needs.
# usage: check.sh FILE...
set -euo pipefail
status=0
for file; do
  case $file in
    */spdnn-openmpi.so) mpi='|libmpi\.so\.40' ;;
    */spdnn-mpich.so) mpi='|libmpi\.so\.12' ;;
    */spdnn-mpich-debian.so) mpi='|libmpich\.so\.12' ;;
    *) mpi='' ;;
  esac
  libraries=$(readelf -dW "$file" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]$/\1/p')
  versions=$(readelf -VW "$file" | sed -n '/ section .\.gnu\.version_r. /,$ s/.* Name: \([^ ]*\) .*/\1/p' | sort -Vu)
  echo "$file: $(xargs <<<"$libraries"); up to $(tail -n 1 <<<"$versions")"
  if grep -vxE "(libc\.so\.6|libm\.so\.6|libpthread\.so\.0|libdl\.so\.2|librt\.so\.1|ld-linux-x86-64\.so\.2)$mpi" <<<"$libraries" |
    sed "s|^|$file: asks for the library |" | grep . >&2; then status=1; fi
  if nm -D --undefined-only "$file" | awk -v file="$file" '$1 == "U" && $2 !~ /@|^(MPI|ompi)_/ { print file ": asks for " $2 ", which is nowhere" }' |
    grep . >&2; then status=1; fi
  for version in $versions; do
    minor=${version#GLIBC_2.}
    if [[ ! $version =~ ^GLIBC_2\.[0-9]+(\.[0-9]+)?$ ]] || [ "${minor%%.*}" -gt 28 ]; then
      objdump -T "$file" | awk -v version="$version" -v file="$file" \
        'NF > 2 && ($(NF - 1) == "(" version ")" || $(NF - 1) == version) { print file ": asks for " $NF " of " version ", expected GLIBC_2.28 or older" }' >&2
      status=1
    fi
  done
done
exit "$status"
