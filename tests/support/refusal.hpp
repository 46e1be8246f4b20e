#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "spdnn/error.hpp"
#include "spdnn/tensor.hpp"
#include "support/known_messages.hpp"

namespace spdnn::testing {

/// The message of a file's refusal; the test fails if the file is read.
template <class File>
std::string refusal(const File& file, const std::optional<Shape>& shape = std::nullopt) {
  try {
    (void)file.read(shape);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

/// Expects the part in the message, and the whole in messages.txt (known_messages.hpp) unless the part ends with ': '.
inline void expect_part(const std::string& message, const std::string& part) {
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, message);
  if (!part.ends_with(": ")) expect_known(message);
}

}  // namespace spdnn::testing
