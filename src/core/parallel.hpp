#pragma once

#include <cstddef>
#include <exception>
#include <functional>

namespace spdnn {

/// Threads for host work: `requested`, or as many processors as the process may use when 0.
int host_threads(int requested = 0);

/// Calls work(i) for i in [0, count) on the OpenMP threads, dynamically scheduled. Exceptions do not tear the program
/// down: the one of the lowest i is rethrown after the loop, so errors in input are reported in file order.
void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work);

/// Splits [0, size) into at most `pieces` ranges of nearly equal length and calls work(piece, begin, end) in parallel.
void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t piece, std::size_t begin, std::size_t end)>& work);

}  // namespace spdnn
