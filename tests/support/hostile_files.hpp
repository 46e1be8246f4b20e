#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

#include "spdnn/error.hpp"
#include "support/known_messages.hpp"

namespace spdnn {

/// Writes a file, and returns its path.
inline std::filesystem::path written(const std::filesystem::path& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

/// Expects a DataError that begins with the file's name and a colon, contains `part`, and is
/// known (known_messages.hpp).
inline void expect_refused(const std::filesystem::path& path, std::string_view part,
                           const std::function<void()>& work) {
  try {
    work();
    ADD_FAILURE() << "expected an error with: " << part;
  } catch (const DataError& error) {
    const std::string what = error.what();
    EXPECT_NE(what.find(part), std::string::npos) << what;
    EXPECT_EQ(what.rfind(path.string() + ":", 0), 0U) << what;
    EXPECT_EQ(what.find('\n'), std::string::npos) << what;
    testing::expect_known(what);
  }
}

}  // namespace spdnn
