#pragma once

#include <gtest/gtest.h>

#include <string>

namespace spdnn::testing {

inline void expect_part(const std::string& message, const std::string& part) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, message);
}

}  // namespace spdnn::testing
