#pragma once

#include <string>
#include <vector>

#include "spdnn/files.hpp"

namespace spdnn {

/// A path that a command reads or writes, and its name in messages: an option, IN or OUT.
struct NamedInput {
  std::string name;
  Path path;
};
struct NamedOutput {
  std::string name;
  Path path;
  bool directory = false;  ///< layer files go into it
};

/// Checks the outputs; to be called before anything is read or computed. UsageError where an output is an input, a
/// layer file of an input or another output, whatever names they are given; DataError where one cannot be written.
void check_outputs(const std::vector<NamedOutput>& outputs, const std::vector<NamedInput>& inputs);

}  // namespace spdnn
