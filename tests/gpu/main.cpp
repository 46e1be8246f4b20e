// Runs the tests of tests/gpu and, for the CUDA variants, those that all variants share; closes with `N passed, N
// failed, N skipped` alone on a line. Without a device every test is skipped, with the reason.

#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <utility>

#include "engines/cuda/runtime/device_info.hpp"

namespace {

class NoDevice : public testing::EmptyTestEventListener {
 public:
  explicit NoDevice(std::string reason) : reason_(std::move(reason)) {}
  void OnTestStart(const testing::TestInfo& /*test*/) override { GTEST_SKIP() << reason_; }

 private:
  std::string reason_;
};

class Tally : public testing::EmptyTestEventListener {
 public:
  void OnTestEnd(const testing::TestInfo& test) override {
    const testing::TestResult& result = *test.result();
    if (result.Skipped())
      ++skipped;
    else if (result.Failed())
      ++failed;
    else
      ++passed;
  }

  int passed = 0;
  int failed = 0;
  int skipped = 0;
};

}  // namespace

int main(int argc, char** argv) {
  GTEST_FLAG_SET(filter, "*:-*cpu_*:BatteryMutants.*");  // of the tests shared with the CPU, the device's
  testing::InitGoogleTest(&argc, argv);
  std::string why_not;
  const bool device = spdnn::cuda::cuda_available(&why_not);
  auto* tally = new Tally;  // GoogleTest owns its listeners
  testing::TestEventListeners& listeners = testing::UnitTest::GetInstance()->listeners();
  if (!device) listeners.Append(new NoDevice(why_not));
  listeners.Append(tally);
  int status = RUN_ALL_TESTS();
  if (device && tally->skipped > 0) {
    std::printf("\n*** %d tests skipped although there is a device: it failed them ***\n", tally->skipped);
    status = 1;
  }
  if (!device) std::printf("\n*** no device: %d tests skipped (%s) ***\n", tally->skipped, why_not.c_str());
  std::printf("%d passed, %d failed, %d skipped\n", tally->passed, tally->failed, tally->skipped);
  return status;
}
