// The shared object between spdnn and one MPI library; see mpi_functions.hpp. The only file that includes mpi.h.

#include <mpi.h>
#include <sched.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

#include "cluster/mpi_functions.hpp"

namespace {

/// The groups' communicators by number. Ranks that lead no node have none for the leaders.
std::array<MPI_Comm, 3> groups{MPI_COMM_NULL, MPI_COMM_NULL, MPI_COMM_NULL};

constexpr uint64_t kMostBytes = uint64_t{1} << 30;  ///< of one call: MPI counts in int
/// Bytes of all ranks in one call to gather: the memory that the root needs beside a larger result.
constexpr uint64_t kMostGathered = uint64_t{1} << 25;
constexpr uint64_t kFewBytes = 4096;  ///< of a call: it ends as soon as all have reached it
constexpr int kTag = 1;

double now() { return MPI_Wtime(); }

/// The kind of wait: a short message may come late, because ranks wait for the root to read and plan; a long one
/// progresses only while MPI is polled.
enum class Message { some_bytes, long_one };

/// Waits for calls to end. First it polls continuously, which keeps short waits short, and yields each time, for the
/// case of more ranks than processors. Then it sleeps between polls, for longer and longer times, so that waiting ranks
/// take little processor time from working ones.
int wait_for(MPI_Request* requests, int count = 1, Message message = Message::some_bytes) {
  constexpr double kBusySeconds = 0.002;
  constexpr double kShortestNap = 50e-6;
  constexpr double kLongestNap = 1e-3;
  const double begin = now();
  for (;;) {
    int done = 0;
    if (const int error = MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE)) return error;
    if (done != 0) return MPI_SUCCESS;
    const double waited = now() - begin;
    if (waited < kBusySeconds) {
      sched_yield();
    } else {
      const double nap =
          message == Message::long_one ? kShortestNap : std::clamp(waited / 64, kShortestNap, kLongestNap);
      const timespec time{0, static_cast<long>(nap * 1e9)};
      nanosleep(&time, nullptr);
    }
  }
}

/// Calls begin(part, count, request) for each part of the bytes and waits for it.
template <class Byte, class Begin>
int in_parts(Byte* data, uint64_t bytes, const Begin& begin) {
  while (bytes > 0) {
    const uint64_t count = std::min(bytes, kMostBytes);
    MPI_Request request = MPI_REQUEST_NULL;
    if (const int error = begin(data, static_cast<int>(count), &request)) return error;
    const Message message = bytes > kFewBytes ? Message::long_one : Message::some_bytes;
    if (const int error = wait_for(&request, 1, message)) return error;
    data += count;
    bytes -= count;
  }
  return MPI_SUCCESS;
}

/// The communicators of a node's ranks, and of the nodes' leaders. With a single node these exist already: making them
/// takes several exchanges among all ranks, in which MPICH's ranks spin: with 64 of them on two processors, that takes
/// twice as long as MPI's start.
int make_groups(bool one_node, SpdnnMpiPlace* place) {
  MPI_Comm& node = groups[kSpdnnMpiNode];
  if (one_node) {
    node = MPI_COMM_WORLD;
    place->node_rank = place->rank;
    place->node_ranks = place->ranks;
    groups[kSpdnnMpiLeaders] = place->rank == 0 ? MPI_COMM_SELF : MPI_COMM_NULL;
    return MPI_SUCCESS;
  }
  if (const int error = MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, place->rank, MPI_INFO_NULL, &node))
    return error;
  MPI_Comm_rank(node, &place->node_rank);
  MPI_Comm_size(node, &place->node_ranks);
  const int color = place->node_rank == 0 ? 0 : MPI_UNDEFINED;
  return MPI_Comm_split(MPI_COMM_WORLD, color, place->rank, &groups[kSpdnnMpiLeaders]);
}

int start(int one_node, SpdnnMpiPlace* place) {
  int provided = 0;
  if (const int error = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)) return error;
  place->on_any_thread = provided >= MPI_THREAD_SERIALIZED ? 1 : 0;
  groups[kSpdnnMpiJob] = MPI_COMM_WORLD;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_rank(MPI_COMM_WORLD, &place->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &place->ranks);
  return make_groups(one_node != 0, place);
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

int ranks_of_job() {
  int ranks = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

bool is_root() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

int gather_size(uint64_t mine, uint64_t* all) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = MPI_Igather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD, &request))
    return error;
  return wait_for(&request);
}

/// One round of gather(): up to `at_once` bytes of each rank, from `done` on.
int gather_round(const char* mine, uint64_t bytes, uint64_t done, uint64_t at_once, const uint64_t* sizes, char* all) {
  const auto part = [&](uint64_t size) { return static_cast<int>(std::min(size - std::min(size, done), at_once)); };
  std::vector<int> counts;
  std::vector<int> begins;
  int sum = 0;
  for (int rank = 0; is_root() && rank < ranks_of_job(); ++rank) {
    counts.push_back(part(sizes[rank]));
    begins.push_back(sum);
    sum += counts.back();
  }
  std::vector<char> round(static_cast<size_t>(sum));
  MPI_Request request = MPI_REQUEST_NULL;
  const int error = MPI_Igatherv(mine + std::min(bytes, done), part(bytes), MPI_BYTE, round.data(), counts.data(),
                                 begins.data(), MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  if (error != MPI_SUCCESS) return error;
  if (const int failed = wait_for(&request, 1, Message::long_one)) return failed;
  for (size_t rank = 0; rank < counts.size(); all += sizes[rank++])
    if (counts[rank] > 0) std::memcpy(all + done, round.data() + begins[rank], static_cast<size_t>(counts[rank]));
  return MPI_SUCCESS;
}

/// In rounds, because MPI counts the bytes of all ranks in int.
int gather(const void* mine, uint64_t bytes, const uint64_t* sizes, void* all) {
  uint64_t most = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = MPI_Iallreduce(&bytes, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD, &request)) return error;
  if (const int error = wait_for(&request)) return error;
  const uint64_t at_once = std::max<uint64_t>(1, kMostGathered / static_cast<uint64_t>(ranks_of_job()));
  for (uint64_t done = 0; done < most; done += at_once)
    if (const int error =
            gather_round(static_cast<const char*>(mine), bytes, done, at_once, sizes, static_cast<char*>(all)))
      return error;
  return MPI_SUCCESS;
}

int exchange_sizes(const uint64_t* mine, uint64_t* theirs) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (const int error = MPI_Ialltoall(mine, 1, MPI_UINT64_T, theirs, 1, MPI_UINT64_T, MPI_COMM_WORLD, &request))
    return error;
  return wait_for(&request);
}

/// Calls begin(part, count, peer, request) for each part of the bytes of each rank, which lie one after another.
template <class Byte, class Begin>
int begin_all(Byte* data, const uint64_t* sizes, std::vector<MPI_Request>& requests, const Begin& begin) {
  const int ranks = ranks_of_job();
  for (int peer = 0; peer < ranks; data += sizes[peer++]) {
    for (uint64_t done = 0; done < sizes[peer]; done += kMostBytes) {
      const int count = static_cast<int>(std::min(sizes[peer] - done, kMostBytes));
      if (const int error = begin(data + done, count, peer, &requests.emplace_back(MPI_REQUEST_NULL))) return error;
    }
  }
  return MPI_SUCCESS;
}

/// Messages instead of MPI_Alltoallv, whose int counts limit the bytes that a rank gets from all others together.
int exchange(const void* out, const uint64_t* out_sizes, void* in, const uint64_t* in_sizes) {
  std::vector<MPI_Request> requests;
  const auto receive = [](char* part, int count, int from, MPI_Request* request) {
    return MPI_Irecv(part, count, MPI_BYTE, from, kTag, MPI_COMM_WORLD, request);
  };
  const auto send = [](const char* part, int count, int to, MPI_Request* request) {
    return MPI_Isend(part, count, MPI_BYTE, to, kTag, MPI_COMM_WORLD, request);
  };
  if (const int error = begin_all(static_cast<char*>(in), in_sizes, requests, receive)) return error;
  if (const int error = begin_all(static_cast<const char*>(out), out_sizes, requests, send)) return error;
  return wait_for(requests.data(), static_cast<int>(requests.size()), Message::long_one);
}

int finish() { return MPI_Finalize(); }

/// OpenMPI's MPI_Abort sometimes makes mpirun crash or hang, while the end of a rank ends its job reliably (4.1.4: 5 of
/// 20 runs against 0 of 15). MPICH's is reliable, but its launcher drops the part of the message that it has not yet
/// forwarded.
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

extern "C" const SpdnnMpiFunctions* spdnn_mpi_functions_5() {
  static constexpr SpdnnMpiFunctions kFunctions{start,    broadcast, all,     gather_size, gather,  exchange_sizes,
                                                exchange, finish,    end_job, describe,    kLibrary};
  return &kFunctions;
}
