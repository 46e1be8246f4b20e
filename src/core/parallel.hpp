#pragma once

#include <cstddef>
#include <exception>
#include <functional>
#include <string>

namespace spdnn {

/// The largest number of threads that may be requested: as many processors as the C library's affinity masks have.
/// OpenMP puts a note on the stack for each thread that it starts, so very many would overflow it.
inline constexpr int kMostThreads = 1024;

/// The number of threads for work on the host: `requested`, or if that is 0 the number of processors that the process
/// may use, or fewer where the system does not allow so many.
int host_threads(int requested = 0);

/// The processors that this process may use, as the system prints them; equal for processes that share them.
std::string processor_set();

/// While it lives, work for which no number of threads is given takes at most so many: processes that share processors
/// would wait for one another's threads otherwise.
class ThreadLimit {
 public:
  explicit ThreadLimit(int threads);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// DeviceError where the system does not allow that many threads.
void require_threads(int threads);

/// Runs work(member, size) for each member of a team of `threads`. The team is smaller where the system allows fewer,
/// and has one member within another team. The first exception is rethrown once all members are done.
void run_team(int threads, const std::function<void(int member, int size)>& work);

/// Calls work(i) for i in [0, count) on the OpenMP threads, dynamically scheduled. Of the exceptions thrown, that of
/// the lowest i is rethrown after the loop, so that errors in input are reported in the order of the file; work of a
/// higher number is no longer begun.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

/// Splits [0, size) into at most `pieces` ranges of nearly equal length and calls work(piece, begin, end) in parallel.
void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& work);

}  // namespace spdnn
