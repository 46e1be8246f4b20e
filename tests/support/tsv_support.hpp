#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "spdnn/csr_matrix.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::test {

/// The message of the DataError that `work` throws, or "no error".
template <class Work>
std::string error_of(const Work& work) {
  return testing::message_of<DataError>(work);
}

inline std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

template <class T>
std::vector<T> list(const Array<T>& array) {
  return {array.begin(), array.end()};
}

inline bool same(const CsrMatrix& a, const CsrMatrix& b) {
  return a.rows == b.rows && a.cols == b.cols && list(a.offsets) == list(b.offsets) &&
         list(a.indices) == list(b.indices) && list(a.values) == list(b.values) && a.value == b.value;
}

/// A directory for the running test, which is removed at its end.
class Scratch {
 public:
  Scratch() {
    const auto* const test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = std::filesystem::path(::testing::TempDir()) /
            (std::string("spdnn.") + test->test_suite_name() + '.' + test->name() + '.' + std::to_string(::getpid()));
    std::filesystem::create_directories(path_);
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { std::filesystem::remove_all(path_); }

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(const std::string& name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

inline std::string contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace spdnn::test
