#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace spdnn {

/// The most threads that one may ask for: as many processors as an affinity mask of the C library has. OpenMP notes
/// each thread that it starts on the stack, which very many would overflow.
inline constexpr int kMostThreads = 1024;

/// Threads for host work: `requested`, or where that is 0 as many as there are processors that the process may use, if
/// the system gives so many.
int host_threads(int requested = 0);

/// DeviceError where the system does not give that many threads.
void require_threads(int threads);

/// Runs work(member, size) for each member of a team of `threads`; the team is smaller where the system gives fewer,
/// and of size 1 within another team. The first exception is rethrown once all members are done.
void run_team(int threads, const std::function<void(int member, int size)>& work);

/// Calls work(i) for i in [0, count) on the OpenMP threads, dynamically scheduled. Exceptions do not tear the program
/// down: the one of the lowest i is rethrown after the loop, so errors in input are reported in file order.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

/// Splits [0, size) into at most `pieces` ranges of nearly equal length and calls work(piece, begin, end) in parallel.
void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& work);

}  // namespace spdnn
