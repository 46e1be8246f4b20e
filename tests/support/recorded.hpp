#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdint>

namespace spdnn::testing {

/// Adds a layer's or a node's numbers, bit for bit and in order, to a digest of the running test.
/// `--gtest_output=json:FILE` records it as the property `activations`, so that comparing the files of two builds shows
/// whether these tests computed the same bits.
void record(const auto& numbers) {
  static const ::testing::TestInfo* test = nullptr;
  static std::uint64_t digest = 0;
  const auto* const running = ::testing::UnitTest::GetInstance()->current_test_info();
  if (running == nullptr) return;
  if (running != test) digest = 0;
  test = running;
  digest = XXH3_64bits_withSeed(numbers.data(), numbers.size() * sizeof(*numbers.data()), digest);
  ::testing::Test::RecordProperty("activations", fmt::format("{:016x}", digest));
}

}  // namespace spdnn::testing
