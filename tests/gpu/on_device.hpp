#pragma once

#include <gtest/gtest.h>

#include <string>

#include "engines/cuda/runtime/device_info.hpp"

namespace spdnn::cuda {

/// A test that needs a device: skipped, with the reason, where there is none.
class OnDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string why_not;
    if (!cuda_available(&why_not)) GTEST_SKIP() << why_not;
  }
};

}  // namespace spdnn::cuda
