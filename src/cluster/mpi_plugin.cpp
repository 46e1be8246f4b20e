// The shared object between spdnn and one MPI library; see mpi_functions.hpp. The only file that includes mpi.h.

#include <mpi.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>

#include "cluster/mpi_functions.hpp"

namespace {

/// Of the groups, by their numbers. Ranks that lead no node have none for the leaders.
std::array<MPI_Comm, 3> groups{MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  ///< of one call: MPI counts in int
constexpr int kTag = 1;

double now() { return MPI_Wtime(); }

/// Waits for a call to end. Ranks may wait for seconds while the root reads and plans, so they leave their processor to
/// others after a moment of looking again and again, which keeps short waits short.
int wait_for(MPI_Request* request) {
  constexpr double kBusySeconds = 0.002;
  constexpr timespec kNap{0, 50'000};
  const double begin = now();
  for (int done = 0; done == 0;) {
    if (const int error = MPI_Test(request, &done, MPI_STATUS_IGNORE)) return error;
    if (done == 0 && now() - begin > kBusySeconds) nanosleep(&kNap, nullptr);
  }
  return MPI_SUCCESS;
}

/// Calls begin(part, count, request) for each part of the bytes and waits for it.
template <class Byte, class Begin>
int in_parts(Byte* data, uint64_t bytes, const Begin& begin) {
  while (bytes > 0) {
    const uint64_t count = std::min(bytes, kMostBytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int error = begin(data, static_cast<int>(count), &request)) return error;
    if (const int error = wait_for(&request)) return error;
    data += count;
    bytes -= count;
  }
  return MPI_SUCCESS;
}

int start(SpdnnMpiPlace* place) {
  int provided = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided)) return error;
  groups[kSpdnnMpiJob] = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place->ranks);
  MPI_Comm& node = groups[kSpdnnMpiNode];
  if (const int error = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node))
    return error;
  MPI_Comm_rank(node, &place->node_rank);
  MPI_Comm_size(node, &place->node_ranks);
  const int color = place->node_rank == 0 ? 0 : MPI_UNDEFINED;
  return MPI_Comm_split(MPI_COMM_WORLD, color, place->rank, &groups[kSpdnnMpiLeaders]);
}

int broadcast(void* data, uint64_t bytes, int group) {
  return in_parts(static_cast<char*>(data), bytes, [group](char* part, int count, MPI_Request* request) {
    return MPI_Ibcast(part, count, MPI_BYTE, 0, groups[group], request);
  });
}

int all(int* flag, int group) {
  const int mine = *flag;
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = MPI_Iallreduce(&mine, flag, 1, MPI_INT, MPI_MIN, groups[group], &request)) return error;
  return wait_for(&request);
}

int send(const void* data, uint64_t bytes, int to) {
  return in_parts(static_cast<const char*>(data), bytes, [to](const char* part, int count, MPI_Request* request) {
    return MPI_Isend(part, count, MPI_BYTE, to, kTag, MPI_COMM_WORLD, request);
  });
}

int receive(void* data, uint64_t bytes, int from) {
  return in_parts(static_cast<char*>(data), bytes, [from](char* part, int count, MPI_Request* request) {
    return MPI_Irecv(part, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD, request);
  });
}

int finish() { return MPI_Finalize(); }

/// OpenMPI's MPI_Abort lets mpirun crash or hang now and then, while the end of a rank ends its job soundly (4.1.4: 5
/// of 20 runs against 0 of 15). MPICH's is sound, but its launcher drops what it has not passed on yet of the message.
void end_job(int code) {
#ifndef OPEN_MPI
  constexpr timespec kToPassOn{0, 200'000'000};
  nanosleep(&kToPassOn, nullptr);
  MPI_Abort(MPI_COMM_WORLD, code);
#else
  static_cast<void>(code);
#endif
}

void describe(int error, char* text, size_t size) {
  std::array<char, MPI_MAX_ERROR_STRING> words{};
  int length = 0;
  if (MPI_Error_string(error, words.data(), &length) != MPI_SUCCESS) std::strcpy(words.data(), "unknown error");
  std::snprintf(text, size, "%s", words.data());
}

#define SPDNN_TEXT_OF(x) #x
#define SPDNN_TEXT(x) SPDNN_TEXT_OF(x)
#if defined(OPEN_MPI)
constexpr const char* kLibrary =
    "Open MPI " SPDNN_TEXT(OMPI_MAJOR_VERSION) "." SPDNN_TEXT(OMPI_MINOR_VERSION) "." SPDNN_TEXT(OMPI_RELEASE_VERSION);
#elif defined(I_MPI_VERSION)
constexpr const char* kLibrary = "Intel MPI " I_MPI_VERSION;
#elif defined(MVAPICH2_VERSION)
constexpr const char* kLibrary = "MVAPICH2 " MVAPICH2_VERSION;
#elif defined(MPICH_VERSION)
constexpr const char* kLibrary = "MPICH " MPICH_VERSION;
#else
constexpr const char* kLibrary = "an MPI library";
#endif

}  // namespace

extern "C" const SpdnnMpiFunctions* spdnn_mpi_functions_2() {
  static constexpr SpdnnMpiFunctions kFunctions{start,  broadcast, all,      send,    receive,
                                                finish, end_job,   describe, kLibrary};
  return &kFunctions;
}
