// How the program ends by each kind of error: its exit code, and the line that it prints.

#include "cli/ending.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <exception>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "io/files/atomic_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {
namespace {

/// In a process of its own.
template <class ErrorType>
void expect_end(const ErrorType& error, int code, const std::string& line) {
  const auto end_by = [&] {
    try {
      throw error;
    } catch (...) {
      end_by_exception();
    }
  };
  EXPECT_EXIT(end_by(), ::testing::ExitedWithCode(code), "^spdnn: " + line + "\n$");
}

TEST(Ending, EachKindOfErrorHasItsExitCodeAndLine) {
  GTEST_FLAG_SET(death_test_style, "fast");
  expect_end(UsageError("bias_rule", "is none"), 2, "--bias-rule: is none");
  expect_end(UsageError("no such thing"), 2, "no such thing");
  expect_end(Unsupported("no CUDA"), 2, "no CUDA: make GPU=1");
  expect_end(DataError("n.tsv: missing"), 3, "n.tsv: missing");
  expect_end(DeviceError("host_memory", "is full"), 4, "--host-memory: is full");
  expect_end(std::bad_alloc(), 4, "out of host memory");
  expect_end(std::length_error("vector"), 4, "out of host memory");
  expect_end(std::runtime_error("odd"), 4, "internal error: odd; please report it with the command line");
  expect_end(7, 4, "internal error: an exception of unknown type; please report it with the command line");
  const auto of_file = [](int error) {
    return std::filesystem::filesystem_error("x", "f.tsv", std::error_code(error, std::generic_category()));
  };
  expect_end(of_file(EACCES), 3, "f.tsv: cannot read or write: Permission denied");
  expect_end(of_file(EMFILE), 4, "f.tsv: cannot read or write: Too many open files");
  const auto of_system = [](int error) { return std::system_error(error, std::generic_category()); };
  expect_end(of_system(EACCES), 3, "the system reported: Permission denied");
  expect_end(of_system(ENOMEM), 4, "the system reported: Cannot allocate memory");
}

}  // namespace
}  // namespace spdnn::cli
