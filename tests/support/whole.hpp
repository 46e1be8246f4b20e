#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace spdnn::testing {

/// Compares a text with that of a file beside the test. SPDNN_WRITE_EXPECTED=1 writes the file anew; read the
/// difference.
inline void expect_whole(const char* test, const char* file, const std::string& text) {
  const auto path = std::filesystem::path(test).parent_path() / file;
  if (std::getenv("SPDNN_WRITE_EXPECTED") != nullptr) std::ofstream(path) << text;
  std::ifstream expected(path);
  EXPECT_EQ(text, std::string(std::istreambuf_iterator<char>(expected), {})) << path;
}

}  // namespace spdnn::testing
