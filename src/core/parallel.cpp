#include "core/parallel.hpp"

#include <omp.h>

#include <algorithm>
#include <mutex>

namespace spdnn {

int host_threads(int requested) { return requested > 0 ? requested : std::max(1, omp_get_num_procs()); }

void parallel_for(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::mutex mutex;
  std::exception_ptr first_error;
  std::size_t first_error_index = count;
#pragma omp parallel for schedule(dynamic, 1) if (count > 1)
  for (std::size_t i = 0; i < count; ++i) {
    try {
      work(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (i < first_error_index) {
        first_error_index = i;
        first_error = std::current_exception();
      }
    }
  }
  if (first_error) std::rethrow_exception(first_error);
}

void parallel_ranges(std::size_t size, std::size_t pieces,
                     const std::function<void(std::size_t, std::size_t, std::size_t)>& work) {
  pieces = std::clamp<std::size_t>(pieces, 1, std::max<std::size_t>(size, 1));
  parallel_for(pieces, [&](std::size_t piece) {
    const std::size_t begin = size / pieces * piece + std::min(piece, size % pieces);
    const std::size_t end = size / pieces * (piece + 1) + std::min(piece + 1, size % pieces);
    if (begin < end) work(piece, begin, end);
  });
}

}  // namespace spdnn
