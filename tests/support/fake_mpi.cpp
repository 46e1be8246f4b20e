// A plug-in in the place of one for an MPI library, for tests: whatever the launcher says, there is one rank.

#include <cstdio>

#include "cluster/mpi_functions.hpp"

namespace {

int start(SpdnnMpiPlace* place) {
  *place = {0, 1, 0, 1};
  return 0;
}
int broadcast(void* /*data*/, uint64_t /*bytes*/, int /*group*/) { return 0; }
int all(int* /*flag*/, int /*group*/) { return 0; }
int send(const void* /*data*/, uint64_t /*bytes*/, int /*to*/) { return 1; }
int receive(void* /*data*/, uint64_t /*bytes*/, int /*from*/) { return 1; }
int finish() { return 0; }
void end_job(int /*code*/) {}
void describe(int error, char* text, size_t size) { std::snprintf(text, size, "error %d", error); }

}  // namespace

extern "C" const SpdnnMpiFunctions* spdnn_mpi_functions_2() {
  static constexpr SpdnnMpiFunctions kFunctions{start,    broadcast,           all, send, receive, finish, end_job,
                                                describe, "a fake MPI library"};
  return &kFunctions;
}
