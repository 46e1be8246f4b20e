// The CPU as a device.

#include "engines/backend.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "core/system/host_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

std::size_t memory_budget(const EngineOptions& options) {
  const std::size_t usable = available_host_bytes() / 10 * 9 / static_cast<std::size_t>(options.sharers);
  return options.host_memory == 0 ? usable : std::min(usable, options.host_memory);
}

double copy_bytes_per_second(const EngineOptions& options) {
  // Each thread reads and writes 64 MiB, several times its share of a cache.
  constexpr std::size_t kBytesPerThread = std::size_t{64} << 20U;
  constexpr std::size_t kMost = std::size_t{1} << 30U;
  const auto threads = static_cast<std::size_t>(host_threads(options.threads));
  const std::size_t bytes = std::min({kMost, threads * kBytesPerThread, memory_budget(options) / 4});
  const std::vector<char> from(bytes, 1);
  const auto to = std::make_unique_for_overwrite<char[]>(bytes);  // the first run, which is slower, touches its pages
  double best_seconds = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 16; ++run) {
    const Stopwatch watch;
    parallel_ranges(bytes, threads, [&](auto, std::size_t begin, std::size_t end) {
      std::memcpy(to.get() + begin, from.data() + begin, end - begin);
    });
    best_seconds = std::min(best_seconds, watch.seconds());
  }
  return 2.0 * static_cast<double>(bytes) / best_seconds;
}

}  // namespace

constinit const Backend kCpuBackend{
    .count = [] { return 1; },
    .memory_budget = memory_budget,
    .copy_bytes_per_second = copy_bytes_per_second,
};

}  // namespace spdnn
