// A test double for an MPI plug-in: whatever the launcher says, there are FAKE_RANKS ranks (default: 1), of which only
// this one answers. FAKE_EXIT names a function that ends the program, as MPICH does in its start-up.

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "cluster/mpi_functions.hpp"

#ifndef FAKE_RANKS
#define FAKE_RANKS 1
#endif
#ifndef FAKE_EXIT
#define FAKE_EXIT ""
#endif

namespace {

void may_exit(std::string_view function) {
  if (function == FAKE_EXIT) std::exit(1);
}

int start(int /*one_node*/, SpdnnMpiPlace* place) {
  may_exit("start");
  *place = {0, FAKE_RANKS, 0, FAKE_RANKS, 1};
  return 0;
}
int broadcast(void* /*data*/, uint64_t /*bytes*/, int /*group*/) { return 0; }
int all(int* /*flag*/, int /*group*/) { return 0; }
int gather_size(uint64_t /*mine*/, uint64_t* /*all*/) {
  may_exit("gather_size");
  return 1;
}
int gather(const void* /*mine*/, uint64_t /*bytes*/, const uint64_t* /*sizes*/, void* /*all*/) { return 1; }
int exchange_sizes(const uint64_t* /*mine*/, uint64_t* /*theirs*/) { return 1; }
int exchange(const void* /*out*/, const uint64_t* /*out_sizes*/, void* /*in*/, const uint64_t* /*in_sizes*/) {
  return 1;
}
int finish() { return 0; }
void end_job(int /*code*/) {}
void describe(int error, char* text, size_t size) { std::snprintf(text, size, "error %d", error); }

}  // namespace

extern "C" const SpdnnMpiFunctions* spdnn_mpi_functions_5() {
  static constexpr SpdnnMpiFunctions kFunctions{
      start,  broadcast, all,      gather_size,         gather, exchange_sizes, exchange,
      finish, end_job,   describe, "a fake MPI library"};
  return &kFunctions;
}
