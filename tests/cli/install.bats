#!/usr/bin/env bats
# `make install` installs all that a program needs to link the library.

load ../support/sampled

repository=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)

setup_file() {
  SPDNN=$(realpath "$SPDNN")
  # The build that is tested, by its folder's name: build/release-cuda-portable, say.
  local out options
  out=$(basename "$(dirname "$SPDNN")")
  if [ "$SPDNN" != "$repository/build/$out/spdnn" ]; then return 0; fi
  options=("BUILD=${out%%-*}" GPU=0)
  if [[ $out == *-cuda* ]]; then options+=(GPU=1); fi
  if [[ $out == *-portable ]]; then options+=(PORTABLE=1); fi
  env -u MAKEFLAGS -u MAKELEVEL make -s -C "$repository" "${options[@]}" "DESTDIR=$BATS_FILE_TMPDIR" PREFIX=/tree install
  printf '%s\n' "${options[@]}" >"$BATS_FILE_TMPDIR/options"
  # Moved after it was installed, as packagers and containers do.
  mv "$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/moved"
}

setup() {
  [ -d "$BATS_FILE_TMPDIR/moved" ] || skip "the program is not in the build folder of these tests"
  tree=$BATS_FILE_TMPDIR/moved
  export PKG_CONFIG_PATH=$tree/lib/pkgconfig
  cd "$BATS_TEST_TMPDIR" || return 1
}

# expects_the_example COMMAND...: the neurons of image 1 hold 1 1 0 0, then 1 0 0 0; image 2 dies; image 3 stays 1 1 1 1.
expects_the_example() {
  run "$@"
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" == "PASSED by "*", categories: 0 2" ]]
  [ "${lines[1]}" = "16 of 16 edges computed per image" ]
  [ "${lines[2]}" = "1 of 1 1 of 2 2 of 3 images are categories" ]
}

# expects_the_model_example COMMAND...: of a model that the installed program makes; a file that is no model is refused.
expects_the_model_example() {
  "$tree/bin/spdnn" generate model --family lenet5 --out lenet5.onnx
  run "$@" lenet5.onnx
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" =~ ^PASSED\ by\ [a-z_]+,\ classes:(\ [0-9]){4}$ ]]
  [[ "${lines[1]}" =~ ^"4 x 10 logits, the first "[-+.e0-9]+$ ]]
  run "$@" all.onnx
  [ "$status" -eq 2 ]
  [ "$output" = "example_model: all.onnx: cannot read: No such file or directory" ]
}

# expects_the_session_example COMMAND...: its images are those of the example of a model, and so are their classes.
expects_the_session_example() {
  local classes
  classes=$(./example_model lenet5.onnx | sed -n '1s/.*, classes://p')
  run "$@" lenet5.onnx
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "$output" =~ ^[a-z_]+\ takes\ 1\ x\ 1\ x\ 28\ x\ 28,\ classes:"$classes"$ ]]
}

@test "install: the program runs from there" {
  "$tree/bin/spdnn" --version | grep -q spdnn
}

@test "install: each public header is complete, and none is of CUDA, MPI, engines or plans" {
  for header in "$tree"/include/spdnn/*.hpp; do echo "#include <spdnn/$(basename "$header")>"; done >all.cpp
  [ "$(wc -l <all.cpp)" -ge 14 ]
  while read -r line; do
    echo "$line" | g++ -std=c++20 -fsyntax-only -I"$tree/include" -x c++ -
  done < <(grep -E "$(sampled '/session|/report' 'inference|files|model|report|session')" all.cpp)
  run grep -rnE '"(core|cluster|inference|io|engines|plan|cli|report)/|Communicator|cuda_runtime|boost' "$tree/include"
  echo "$output"
  [ "$status" -eq 1 ]
  [ ! -e "$tree/src/engines/engine.hpp" ]
}

@test "install: the examples of a model and of a session are built by pkg-config" {
  # shellcheck disable=SC2046
  g++ -std=c++20 -Wall -Wextra "$repository/docs/example_model.cpp" $(pkg-config --cflags --libs spdnn) -o example_model
  expects_the_model_example ./example_model
  g++ -std=c++20 -Wall -Wextra "$repository/docs/example_session.cpp" $(pkg-config --cflags --libs spdnn) -o example_session
  expects_the_session_example ./example_session
}

@test "install: the example is built by CMake's find_package, which knows the version" {
  [ -n "${CI:-}" ] || command -v cmake || skip "needs cmake: make deps"
  version=$(sed -n 's/^Version: //p' "$tree/lib/pkgconfig/spdnn.pc")
  cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.18)
project(example CXX)
find_package(spdnn \${WANTED} REQUIRED)
add_executable(example $repository/docs/example.cpp)
target_link_libraries(example spdnn::spdnn)
END
  cmake -S . -B out -DCMAKE_PREFIX_PATH="$tree" -DWANTED="$version" >log 2>&1 || { cat log; return 1; }
  cmake --build out >>log 2>&1 || { cat log; return 1; }
  expects_the_example out/example
  run cmake -S . -B other -DCMAKE_PREFIX_PATH="$tree" -DWANTED=99.0
  [ "$status" -ne 0 ]
}

@test "install: the program runs on two ranks with each MPI library that make finds" {
  load ../support/ranks
  mpicxx=$(command -v mpicxx) || skip "needs MPI: mpicxx and mpirun"
  libraries=$(printf '%s\n' "$mpicxx".* | sed -n 's/.*mpicxx\.\([a-z]*\)$/\1/p')
  "$tree/bin/spdnn" generate network --family random --neurons 64 --layers 6 --degree 8 --seed 2 --bias -0.1 --out n.spdnn
  "$tree/bin/spdnn" generate inputs --family digits --neurons 64 --images 50 --out i.spdnn
  for name in ${libraries:-mpi}; do
    [ -e "$tree/lib/spdnn/spdnn-$name.so" ]
    use_mpi "$name"
    SPDNN=$tree/bin/spdnn ends 0 ranks 2 infer --network n.spdnn --inputs i.spdnn --device cpu --verify all --progress never
    grep -q '^ranks  *2 on 1 host; ' stdout
    grep -q '^verdict  *PASSED: ' stdout
  done
}

@test "install: an MPI library that came after the program was built gets its plug-in, and a new one when its wrapper changes" {
  cat >mpicxx.fake <<'END'
#!/bin/bash
[ "$1" != -show ] || { echo "compiles for release $(cat "$(dirname "$0")/release")"; exit; }
while [ "$1" != -o ]; do shift; done
cp "$(dirname "$0")/release" "$2"
END
  chmod +x mpicxx.fake
  mapfile -t options <"$BATS_FILE_TMPDIR/options"
  make_install() {
    env -u MAKEFLAGS -u MAKELEVEL make -s -C "$repository" "${options[@]}" "MPICXX=$PWD/mpicxx" MPI_LIBRARIES=fake \
      "DESTDIR=$PWD" PREFIX=/again install
  }
  for release in 1 2; do
    echo "$release" >release
    make_install
    cmp release again/lib/spdnn/spdnn-fake.so
  done
  rm "$(dirname "$(realpath "$SPDNN")")"/{spdnn-fake.so,generated/mpi-fake}
}

@test "install: the module file puts the tree that it is in on the paths" {
  file=$(echo "$tree"/share/modulefiles/spdnn/*)
  [[ "$("$tree/bin/spdnn" --version)" == *"spdnn ${file##*/} "* ]]
  # The commands of Environment Modules and Lmod that our module file uses.
  cat >load.tcl <<'END'
set ModulesCurrentModulefile [lindex $argv 0]
proc module-whatis {text} {}
proc conflict {name} {}
proc prepend-path {name value} { puts "$name=$value" }
proc setenv {name value} { puts "$name=$value" }
source $ModulesCurrentModulefile
END
  run tclsh load.tcl "$file"
  echo "$output"
  [ "$status" -eq 0 ]
  [ "${lines[0]}" = "PATH=$tree/bin" ]
  [ "${lines[1]}" = "MANPATH=$tree/share/man" ]
  [ -x "$tree/bin/spdnn" ] && [ -e "$tree/share/man/man1/spdnn.1" ] && [ -e "$tree/lib/pkgconfig/spdnn.pc" ]
  [ "${lines[4]}" = "SPDNN_JOBS=$tree/share/spdnn/jobs" ]
  "$tree/bin/spdnn-jobs" infer --dry-run -- --network n | grep -qF "$tree/share/spdnn/jobs/infer.sbatch"
}

@test "install: licence, pages, man pages and completion come along" {
  cmp "$repository/LICENSE" "$tree/share/doc/spdnn/LICENSE"
  cmp "$repository/docs/files.md" "$tree/share/doc/spdnn/docs/files.md"
  grep -q '^.TH' "$tree/share/man/man1/spdnn-infer.1"
  [ -s "$tree/share/bash-completion/completions/spdnn" ]
}
