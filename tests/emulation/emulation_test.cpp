#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "cuda_runtime_api.h"

namespace {

constexpr unsigned kThreads = 96;

TEST(Emulation, BarriersAndExchangesOrderWhatThreadsDo) {
  std::vector<unsigned> sums(2 * kThreads / 32), seen;
  emulation::launch(2, kThreads, 0, [&] {
    const unsigned sum = __reduce_add_sync(~0U, threadIdx.x);
    EXPECT_EQ(__shfl_xor_sync(~0U, threadIdx.x, 5), threadIdx.x ^ 5);
    if (threadIdx.x % 32 == 0) sums[blockIdx.x * kThreads / 32 + threadIdx.x / 32] = sum;
    EXPECT_EQ(__syncthreads_or(threadIdx.x == 70 ? 4 : 1), 5);
    if (threadIdx.x >= 64) return;  // barriers do not wait for threads that have ended
    __syncthreads();
    if (threadIdx.x == 0) seen.push_back(sums[blockIdx.x * 3 + 2]);
  });
  EXPECT_EQ(sums, (std::vector<unsigned>{496, 1520, 2544, 496, 1520, 2544}));
  EXPECT_EQ(seen, (std::vector<unsigned>{2544, 2544}));
}

TEST(Emulation, ThreadsThatWaitForEverAreAnError) {
  const auto half_a_warp = [] {
    if (threadIdx.x % 32 < 16) __ballot_sync(~0U, true);
  };
  EXPECT_THROW(emulation::launch(1, kThreads, 0, half_a_warp), std::logic_error);
  const auto without_end = [] {
    while (true) emulation::pause();
  };
  EXPECT_THROW(emulation::launch(1, kThreads, 0, without_end), std::logic_error);
  EXPECT_THROW(emulation::launch(1, 33, 0, [] {}), std::invalid_argument);
  EXPECT_NO_THROW(emulation::launch(1, kThreads, 0, [] { __syncthreads(); }));
}

}  // namespace
