#pragma once

#include <cstddef>
#include <cstdint>

// What spdnn asks of MPI, as plain C functions: src/cluster/mpi_plugin.cpp is compiled by the compiler wrapper of one
// MPI library into a shared object of its own, which the program opens where a launcher has started several ranks. So
// one program runs without MPI, and with any MPI library that it was built for.

extern "C" {

enum { kSpdnnMpiJob = 0, kSpdnnMpiNode = 1, kSpdnnMpiLeaders = 2 };

struct SpdnnMpiPlace {
  int rank;
  int ranks;
  int node_rank;
  int node_ranks;
};

/// Functions return 0, or an error number that `describe` puts into words.
struct SpdnnMpiFunctions {
  int (*start)(SpdnnMpiPlace* place);
  int (*broadcast)(void* data, uint64_t bytes, int group);
  int (*all)(int* flag, int group);
  int (*send)(const void* data, uint64_t bytes, int to);
  int (*receive)(void* data, uint64_t bytes, int from);
  int (*finish)();
  /// Ends all ranks with this exit code, as far as that is sound for the library; may return.
  void (*end_job)(int code);
  void (*describe)(int error, char* text, size_t size);
  /// The library that this was compiled for, with its version: "Open MPI 4.1.4".
  const char* library;
};

/// The one function that the shared object exports.
const SpdnnMpiFunctions* spdnn_mpi_functions_2();
}
