#pragma once

#include <cstddef>
#include <cstdint>

// The plain C interface between spdnn and MPI: each MPI library's compiler wrapper compiles src/cluster/mpi_plugin.cpp
// into a shared object, which the program opens if a launcher has started several ranks. So one program runs without
// MPI, and with any MPI library for which it was built.

extern "C" {

enum { kSpdnnMpiJob = 0, kSpdnnMpiNode = 1, kSpdnnMpiLeaders = 2 };

struct SpdnnMpiPlace {
  int rank;
  int ranks;
  int node_rank;
  int node_ranks;
  int on_any_thread;  ///< whether any thread may call the functions, one at a time
};

/// Functions return 0, or an error number that `describe` puts into words.
struct SpdnnMpiFunctions {
  /// `one_node`: all ranks are on one node, and know it.
  int (*start)(int one_node, SpdnnMpiPlace* place);
  int (*broadcast)(void* data, uint64_t bytes, int group);
  int (*all)(int* flag, int group);
  /// `all`: by rank, on the root; elsewhere null.
  int (*gather_size)(uint64_t mine, uint64_t* all);
  /// `sizes` and `all`: on the root; elsewhere null.
  int (*gather)(const void* mine, uint64_t bytes, const uint64_t* sizes, void* all);
  int (*exchange_sizes)(const uint64_t* mine, uint64_t* theirs);
  int (*exchange)(const void* out, const uint64_t* out_sizes, void* in, const uint64_t* in_sizes);
  int (*finish)();
  /// Ends all ranks with this exit code, as far as that is sound for the library; may return.
  void (*end_job)(int code);
  void (*describe)(int error, char* text, size_t size);
  /// The library that this was compiled for, with its version: "Open MPI 4.1.4".
  const char* library;
};

/// The one function that the shared object exports.
const SpdnnMpiFunctions* spdnn_mpi_functions_5();
}
