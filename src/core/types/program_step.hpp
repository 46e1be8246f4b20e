#pragma once

#include <cstddef>
#include <string>

namespace spdnn {

/// A kernel of a compiled program, for people.
struct ProgramStep {
  double seconds = 0;       ///< predicted
  std::string kernel{};     ///< its name
  std::string layouts{};    ///< of the inputs and of the output
  std::string operation{};  ///< the node and the ones fused with it, or a change of layout
  std::string why{};        ///< the kernel's own choice and its reason; empty if it has none
  std::size_t node = 0;     ///< whose time it is, of the model that runs

  bool operator==(const ProgramStep&) const = default;
};

}  // namespace spdnn
