#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "cli/commands.hpp"

namespace spdnn::testing {

using cli::Arguments;

/// How a command ended, and what it printed.
struct Said {
  int code = 0;
  std::string out;
  std::string err;
};

/// Runs `spdnn COMMAND ARGUMENTS` in this process. Passes errors on.
inline Said run_command(const std::string& command, const cli::Arguments& arguments) {
  ::testing::internal::CaptureStdout();
  ::testing::internal::CaptureStderr();
  Said said;
  const auto take = [&] {
    std::fflush(stdout);
    said.out = ::testing::internal::GetCapturedStdout();
    said.err = ::testing::internal::GetCapturedStderr();
  };
  try {
    said.code = cli::find_command(command).run(arguments);
  } catch (...) {
    take();
    throw;
  }
  take();
  return said;
}

inline Arguments joined(Arguments first, const Arguments& others) {
  first.insert(first.end(), others.begin(), others.end());
  return first;
}

}  // namespace spdnn::testing
