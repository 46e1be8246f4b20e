#!/usr/bin/env bats
# What `make install` leaves is all that a program needs which links the library.

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
  # Moved after it was installed, as packagers and containers do.
  mv "$BATS_FILE_TMPDIR/tree" "$BATS_FILE_TMPDIR/moved"
}

setup() {
  [ -d "$BATS_FILE_TMPDIR/moved" ] || skip "the program is not in the build folder of these tests"
  tree=$BATS_FILE_TMPDIR/moved
  cd "$BATS_TEST_TMPDIR" || return 1
}

# expects_the_example COMMAND...: the neurons of image 1 hold 1 1 0 0, then 1 0 0 0; image 2 dies; image 3 stays 1 1 1 1.
expects_the_example() {
  run "$@"
  echo "$output"
  [ "$status" -eq 0 ]
  [[ "${lines[0]}" == "PASSED by "*", categories: 0 2" ]]
  [ "${lines[1]}" = "16 of 16 edges computed per image" ]
}

@test "install: the program runs from there" {
  "$tree/bin/spdnn" --version | grep -q spdnn
}

@test "install: each public header is complete, and none is of CUDA, MPI, engines or plans" {
  for header in "$tree"/include/spdnn/*.hpp; do echo "#include <spdnn/$(basename "$header")>"; done >all.cpp
  [ "$(wc -l <all.cpp)" -ge 14 ]
  while read -r line; do
    echo "$line" | g++ -std=c++20 -fsyntax-only -I"$tree/include" -x c++ -
  done < <(grep -E 'inference|files|model|report' all.cpp)
  run grep -rnE '"(core|cluster|inference|io|engines|plan|cli|report)/|Communicator|cuda_runtime|boost' "$tree/include"
  echo "$output"
  [ "$status" -eq 1 ]
  [ ! -e "$tree/include/spdnn/engine.hpp" ]
}

@test "install: the example is built by pkg-config" {
  export PKG_CONFIG_PATH=$tree/lib/pkgconfig
  # shellcheck disable=SC2046
  g++ -std=c++20 "$repository/docs/example.cpp" $(pkg-config --cflags --libs spdnn) -o example
  expects_the_example ./example
}

@test "install: the example is built by CMake's find_package, which knows the version" {
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
