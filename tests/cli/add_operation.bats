#!/usr/bin/env bats
# An operation of models is a struct, a line of include/spdnn/operations.def and a file with its rules: no other code names
# the one in tests/toy_operation, and a program with it works (docs/add_an_operation.md).

load ../support/sampled

# Compiles src/model, what it needs of src/core, and the test of the operation as one unit, with the longer list; the rules of
# the operation separately. GCC would collect garbage too early for a unit of this size.
setup_file() {
  in_full || return 0
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
  toy=$root/tests/toy_operation
  core=$root/src/core
  cd "$BATS_FILE_TMPDIR" || return 1
  mkdir spdnn
  cat "$root/include/spdnn/operations.def" "$toy/operations.def" >spdnn/operations.def
  for file in "$root"/src/model/*/*.cpp "$core"/text/{comma_list,message}.cpp "$core"/system/control_groups.cpp \
    "$core"/threads/{crew,parallel,parallel_rows,thread_quota}.cpp \
    "$core"/types/{array,csr_matrix,tensor,typed_matrix,values,weights}.cpp "$toy/toy_test.cpp"; do
    echo "#include \"$file\""
  done >test.cpp
  # Headers of include/spdnn find the list beside this folder's first.
  for source in test.cpp "$toy/scale.cpp"; do
    g++ -std=c++20 -O0 -DFMT_CONSTEVAL= --param ggc-min-heapsize=1000000 -fopenmp -I. -I"$root/include" -I"$root/src" -I"$root/tests" -include "$toy/scale.hpp" -c "$source" || return 1
  done
}

setup() {
  in_full || skip "compiles all of src/model: make test-long"
  cd "$BATS_FILE_TMPDIR" || return 1
}

link() { g++ -fopenmp "$@" -lfmt -lxxhash -o toy; }

@test "an operation is a struct, a line and a file of rules" {
  link test.o scale.o
  OMP_NUM_THREADS=1 run ./toy
  echo "$output"
  [ "$status" -eq 0 ]
  [ "$output" = "the toy operation works" ]
}

@test "an operation in the list without rules does not link, and the linker names the rules" {
  run link test.o
  [ "$status" -ne 0 ]
  for rule in name check shape evaluate magnitude; do
    [[ "$output" == *"spdnn::rules::$rule(spdnn::Scale const&"* ]] || { echo "$rule: $output"; return 1; }
  done
}
