#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace spdnn {

/// The largest number of threads that may be requested: the number of processors in the C library's affinity masks.
/// OpenMP uses stack space for each thread that it starts, so very many would overflow it.
inline constexpr int kMostThreads = 1024;

/// The number of threads for work on the host: `requested`, or if that is 0 the number of processors available to the
/// process; fewer if the system does not allow that many.
int host_threads(int requested = 0);

/// The processors available to this process, as the system prints them; equal for processes that share them.
std::string processor_set();

/// While it lives, work without an explicit number of threads uses at most this number: processes that share processors
/// would otherwise wait for one another's threads.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// DeviceError if the system does not allow that many threads.
void require_threads(int threads);

/// Calls work(member, thread) once for each of `threads` members of a team; `thread` is the number, in the team, of the
/// thread that calls. Members share what there is to do, take of it as long as there is some, and must not wait for one
/// another: where threads come late, or not at all, or are not started because the caller belongs to a team itself, the
/// calling thread works for their members after its own. The exception of the lowest member is rethrown after all are
/// done.
void run_team(int threads, const std::function<void(int member, int thread)>& work);

/// Calls work(i) for i in [0, count) on the threads of a team, dynamically scheduled. The exception of the lowest i is
/// rethrown after the loop, so that input errors are reported in file order; work of higher numbers is then skipped.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

/// Splits [0, size) into at most `pieces` ranges of nearly equal length and calls work(piece, begin, end) in parallel.
void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& work);

}  // namespace spdnn
