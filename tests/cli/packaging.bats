#!/usr/bin/env bats
# The recipes of make/packaging, flags of a first build, and the check of a portable program's symbols;
# tests/tools/dist_chroot.sh tries the archive.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  cd "$BATS_TEST_TMPDIR" || return 1
  read -ra compiler <<<"${CXX:-g++}"
}

@test "the recipes for Spack and EasyBuild name existing files and settings" {
  run python3 "$root/tests/tools/check_recipes.py"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "a recipe of another version, or with a wrong target, variable or variant, is found" {
  mkdir -p tests/tools
  cp "$root/Makefile" .
  cp -r "$root/make" .
  cp "$root/tests/tools/check_recipes.py" tests/tools
  recipe=make/packaging/spack/packages/spdnn/package.py
  for change in 's/version("0/version("9/' 's/\["all"\]/["nothing"]/' 's/"CCACHE=/"NO_CACHE=/' 's/"+onednn"/"+nothing"/' \
    's/sha256="0/sha256="/'; do
    cp "$root/$recipe" "$recipe"
    sed -i "$change" "$recipe"
    run python3 tests/tools/check_recipes.py
    echo "$change: $output"
    [ "$status" -eq 1 ]
    [[ "$output" == *"package.py: "* ]]
  done
}

@test "the recipes for Docker and Apptainer run the same commands" {
  for recipe in Dockerfile spdnn.def; do
    "$root/tests/tools/recipe_commands.py" "$root/make/packaging/$recipe" | sed 's/ && /\n/g' >"$recipe"
    [ "$(wc -l <"$recipe")" -eq 6 ]
  done
  diff Dockerfile spdnn.def
}

@test "a portable program is linked with no symbol newer than glibc 2.28, and our replacements of newer ones run" {
  CC="${compiler[*]}" "$root/make/portable/stubs.sh" "$PWD/stubs"
  [ "$(grep -c . stubs/symbols)" -gt 2000 ]
  run grep -E ' GLIBC_2\.(29|3[0-9]) ' stubs/symbols
  [ "$status" -eq 1 ]
  grep -q '^libpthread function .* GLIBC_2.2.5 pthread_create$' stubs/symbols
  # Constructors run, a thread catches its exceptions, files are found: all through compat.c.
  cat >program.cpp <<'END_OF_PROGRAM'
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <sys/stat.h>
struct Constructed { std::shared_ptr<int> made = std::make_shared<int>(7); } constructed;
int main(int count, char** arguments) {
  int caught = 0;
  std::thread thread([&] {
    try { throw std::runtime_error("thrown"); } catch (const std::exception&) { caught = 1; }
  });
  thread.join();
  struct stat file{}, link{};
  const bool found = stat(arguments[0], &file) == 0 && lstat(arguments[0], &link) == 0 && file.st_size == link.st_size &&
                     std::filesystem::file_size(arguments[0]) == static_cast<std::uintmax_t>(file.st_size);
  // Half a second at least, of the steady clock, although nobody comes.
  const auto begin = std::chrono::steady_clock::now();
  std::timed_mutex taken;
  std::unique_lock holds(taken);
  std::thread([&] { caught += taken.try_lock_for(std::chrono::milliseconds(300)) ? 8 : 0; }).join();
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable().wait_for(lock, std::chrono::milliseconds(250), [] { return false; });
  const bool waited = std::chrono::steady_clock::now() - begin >= std::chrono::milliseconds(500);
  const bool random = std::random_device()() != std::random_device()();
  std::printf("%d %d %d %d %d %.3f\n", *constructed.made, caught, found, random, waited, std::exp(double(count)));
}
END_OF_PROGRAM
  for part in compat start; do
    "${compiler[@]}" -x c -std=c17 -O2 -fPIC -fvisibility=hidden -c "$root/make/portable/$part.c" -o "$part.o"
  done
  "${compiler[@]}" -std=c++20 -O1 -fopenmp -static-libstdc++ -static-libgcc -Lstubs -Wl,--as-needed -Wl,--wrap=__libc_start_main \
    program.cpp compat.o start.o -o program
  run "$root/make/portable/check.sh" program
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$(./program)" = "7 1 1 1 1 2.718" ]
}

@test "a program that asks for a newer glibc or another library is found" {
  echo 'int main() {}' >program.cpp
  "${compiler[@]}" program.cpp -Wl,--no-as-needed -lz -o program
  run "$root/make/portable/check.sh" program
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"program: asks for the library libz.so.1"* ]]
  echo 'extern "C" int arc5random(); int ask() { return arc5random(); }' >plugin.cpp
  "${compiler[@]}" -shared -fPIC plugin.cpp -o spdnn-mpich.so
  run "$root/make/portable/check.sh" ./spdnn-mpich.so
  echo "$output"
  [ "$status" -eq 1 ]
  [[ "$output" == *"spdnn-mpich.so: asks for arc5random, which is nowhere"* ]]
  run "$root/make/portable/check.sh" program
  [[ "$output" == *"program: asks for __libc_start_main of GLIBC_2.34, expected GLIBC_2.28 or older"* ]]
}

# make installs g++ after it has read its files.
@test "a first build, begun without a compiler, has the kernels for AVX2 and AVX-512" {
  [ "$(uname -m)" = x86_64 ] || skip "kernels for AVX are those of x86-64"
  out=build/not_made
  kernels=$out/src/engines/cpu/sparse_conv/kernels
  env -u MAKEFLAGS -u MAKELEVEL make -n -C "$root" GPU=0 STEPS=1 CXX="$PWD/none" OUT=$out ${kernels}_avx{2,512}.o >commands
  grep -q -e '/none .* -mavx2 -mfma .*kernels_avx2.cpp' commands
  grep -q -e '/none .* -mavx512f .*kernels_avx512.cpp' commands
}
