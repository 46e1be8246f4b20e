#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <string>

namespace spdnn::testing {

/// Expects that the message is a line of messages.txt: a test says which part of a message matters to it, and this
/// table that its other words, numbers and names are the right ones, too. The table leaves out the names of temporary
/// directories and what libraries say.
inline void expect_known(std::string message) {
  static const std::set<std::string> lines = [] {
    std::ifstream table(std::filesystem::path(__FILE__).parent_path() / "messages.txt");
    std::set<std::string> read;
    for (std::string line; std::getline(table, line);) read.insert(line);
    return read;
  }();
  const std::string directory = "/spdnn-test-";
  for (std::size_t at = 0; (at = message.find(directory)) != std::string::npos;) {
    const std::size_t begin = message.find_last_of(" '", at) + 1;
    const std::size_t end = at + directory.size() + 6;
    message.erase(begin, end - begin + (message.compare(end, 1, "/") == 0 ? 1 : 0));
  }
  for (const std::string library : {"damaged: ", "not a zip archive: "})
    if (const std::size_t at = message.find(library); at != std::string::npos) message.resize(at + library.size());
  EXPECT_TRUE(lines.contains(message)) << "no line of tests/support/messages.txt: " << message;
}

}  // namespace spdnn::testing
