#!/usr/bin/env bats
# The includes of include/ and src/ respect the rooms of tests/tools/include_graph.py: no arrow up, and so no circle.

setup() {
  root=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
}

@test "rooms know only what lies below them" {
  run python3 "$root/tests/tools/include_graph.py"
  echo "$output"
  [ "$status" -eq 0 ]
}

@test "an include that runs up, a header of src in a public one, and one that is for others are found" {
  mkdir -p "$BATS_TEST_TMPDIR"/{include/spdnn,src/{core/types,io/networks/text,engines/cuda/spmm,attic}}
  cd "$BATS_TEST_TMPDIR" || return 1
  printf '#include "core/types/array.hpp"\n' >include/spdnn/network.hpp
  printf '#include "spdnn/network.hpp"\n  #  include "io/networks/files.hpp"\n' >src/core/types/array.cpp
  printf '#include "io/files/path_kind.hpp"\n#include <cuda_runtime_api.h>\n' >src/io/networks/text/source.cpp
  printf '#include <cuda_runtime_api.h>\n#include "engines/cuda/cascade/set.cuh"\n' >src/engines/cuda/spmm/engine.cu
  printf '\n' >src/attic/lamp.hpp
  run python3 "$root/tests/tools/include_graph.py" .
  echo "$output"
  [ "$status" -eq 1 ]
  [ "${#lines[@]}" -eq 6 ]
  [[ "$output" == *"spdnn/network.hpp:1: spdnn does not know core/types: core/types/array.hpp"* ]]
  [[ "$output" == *"core/types/array.cpp:2: core/types does not know io/networks: io/networks/files.hpp"* ]]
  [[ "$output" == *"io/networks/text/source.cpp:2: <cuda_runtime_api.h> is for engines/cuda alone"* ]]
  [[ "$output" == *"engines/cuda/spmm/engine.cu:2: engines/cuda/spmm does not know engines/cuda/cascade: engines/cuda/cascade/set.cuh"* ]]
  [[ "$output" == *"attic/lamp.hpp is in no room"* ]]
}

@test "files that are compiled as one unit have no private functions of one name" {
  cd "$BATS_TEST_DIRNAME/../.." || return 1
  run bash -o pipefail -c 'env -u MAKEFLAGS -u MAKELEVEL make -s GPU=0 UNITY=1 print-units | tests/tools/private_names.py'
  echo "$output"
  [ "$status" -eq 0 ]
}
