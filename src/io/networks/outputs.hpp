#pragma once

#include <string>
#include <vector>

#include "spdnn/files.hpp"

namespace spdnn {

/// A path that a command reads, and its name in messages: an option, IN or OUT.
struct NamedInput {
  std::string name;
  Path path;
};
struct NamedOutput {
  std::string name;
  Path path;
  bool directory = false;  ///< layer files go into it
};

/// Checks the outputs before anything is read or computed. UsageError if an output is an input, a layer file of an
/// input, or another output, under whatever names; DataError if one is not writable, or no file can be created there.
void check_outputs(const std::vector<NamedOutput>& outputs, const std::vector<NamedInput>& inputs);

}  // namespace spdnn
