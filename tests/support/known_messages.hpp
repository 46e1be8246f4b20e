#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace spdnn::testing {

/// Expects the whole message in messages.txt, less the names of temporary directories and what libraries say. Tests
/// name the part that matters; the table pins the rest.
inline void expect_known(std::string message) {
  static const std::set<std::string> lines = [] {
    std::ifstream table(std::filesystem::path(__FILE__).parent_path() / "messages.txt");
    EXPECT_TRUE(table.is_open());
    std::set<std::string> read;
    for (std::string line; std::getline(table, line);) read.insert(line);
    return read;
  }();
  const std::string directory = (std::filesystem::temp_directory_path() / "spdnn-test-").string();
  for (std::size_t at = 0; (at = message.find(directory)) != std::string::npos;) {
    const std::size_t end = at + directory.size() + 6;
    message.erase(at, end - at + (message.compare(end, 1, "/") == 0 ? 1 : 0));
  }
  for (const std::string library : {"damaged: ", "not a zip archive: "})
    if (const std::size_t at = message.find(library); at != std::string::npos) message.resize(at + library.size());
  EXPECT_TRUE(lines.contains(message))
      << "no line of tests/support/messages.txt (if it is right, put it there, in the order of bytes): " << message;
}

}  // namespace spdnn::testing
