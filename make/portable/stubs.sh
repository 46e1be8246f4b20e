#!/usr/bin/env bash
# Makes stub libraries that a portable program is linked against in place of the C library: they have its names, and of each
# symbol the newest version that glibc 2.28 has. The linker records the versions that it finds in these stubs, so the program
# needs none that is newer. A symbol that 2.28 lacks fails the link unless compat.c defines it. The stubs contain no code that
# runs, and none of it enters the program.
# usage: [CC=COMPILER] stubs.sh FOLDER
set -euo pipefail
folder=$1
read -ra compiler <<<"${CC:-gcc}"
mkdir -p "$folder"

# list LIBRARY...: prints `LIBRARY TYPE SIZE ADDRESS VERSION NAME` for each symbol. Versions 2.32 to 2.34 merged libpthread,
# libdl and librt into libc, which has the older versions of their symbols and a new one; `list` assigns them to their old
# libraries.
list() {
  local library
  for library; do
    readelf -W --dyn-syms "$("${compiler[@]}" -print-file-name="$library")" | awk -v library="${library%%.so*}" '
      !match($8, /@+GLIBC_2\.[0-9.]+$/) || $7 == "UND" { next }
      {
        name = substr($8, 1, RSTART - 1)
        version = substr($8, RSTART)
        newest = sub(/^@@/, "", version)
        sub(/^@/, "", version)
        split(version, part, "[.]")
        age = part[2] * 1000 + part[3]
        if (library == "libc" && newest && part[2] >= 32 && part[2] <= 34) moved[name] = 1
        if (part[2] > 28 || (name in ages && ages[name] > age)) next
        ages[name] = age
        line[name] = ($4 == "OBJECT" ? "object" : "function") " " $3 " " $2 " " version
      }
      END {
        for (name in line) {
          home = library
          if (name in moved && name ~ /^_*(pthread|sem|thrd|mtx|cnd|tss)_|^call_once/) home = "libpthread"
          if (name in moved && name ~ /^dl/) home = "libdl"
          if (name in moved && name ~ /^_*(aio|lio|mq|shm|timer)_/) home = "librt"
          print home, line[name], name
        }
      }'
  done | LC_ALL=C sort
}

# make_stub LIBRARY FILE SONAME: all names of one address label the same place, as copy relocations of variables require.
make_stub() {
  local stub=$folder/${1}
  awk -v library="$1" '
    $1 != library { next }
    $2 == "function" { print ".text\n.globl " $6 "\n.type " $6 ", @function\n" $6 ": ret" }
    $2 == "object" { sizes[$4] = $3; names[$4] = names[$4] " " $6 }
    END {
      print ".data"
      for (address in names) {
        print ".balign 32"
        count = split(names[address], name, " ")
        for (i = 1; i <= count; i++)
          print ".globl " name[i] "\n.type " name[i] ", @object\n.size " name[i] ", " sizes[address] "\n" name[i] ":"
        print ".skip " sizes[address]
      }
      print ".section .note.GNU-stack, \"\", @progbits"
    }' "$folder/symbols" >"$stub.s"
  awk -v library="$1" '
    $1 == library { names[$5] = names[$5] " " $6 ";" }
    END { for (version in names) print version " { global:" names[version] " };" }' "$folder/symbols" >"$stub.map"
  "${compiler[@]}" -shared -nostdlib -Wl,-soname,"$3" -Wl,--version-script="$stub.map" "$stub.s" -o "$folder/$2"
  rm "$stub.s" "$stub.map"
}

list libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 >"$folder/symbols"
make_stub libc libc.so.6 libc.so.6
make_stub libm libm.so libm.so.6
make_stub libpthread libpthread.so libpthread.so.0
make_stub libdl libdl.so libdl.so.2
make_stub librt librt.so librt.so.1
# A linker script like glibc's own libc.so: adds its static part and the dynamic linker, whose symbols programs also use.
echo "GROUP ( $folder/libc.so.6 $("${compiler[@]}" -print-file-name=libc_nonshared.a)" \
  "AS_NEEDED ( $("${compiler[@]}" -print-file-name=ld-linux-x86-64.so.2) ) )" >"$folder/libc.so"
# -fopenmp links libgomp, in whichever form it finds first.
ln -sfn "$("${compiler[@]}" -print-file-name=libgomp.a)" "$folder/libgomp.a"
