#pragma once

#include <string>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

struct Choice {
  const Kernel* kernel = nullptr;
  Offer offer{};
  std::vector<std::string> remarks{};  ///< the chosen kernel and the reason, if the choice depends on the weights
  std::string others{};                ///< other kernels that support the step, with their predicted times
};

/// The identity of an offer among the others of its step.
struct Wanted {
  std::string kernel;
  std::string detail;
  std::vector<std::string> inputs;  ///< layouts, as text() names them
  std::string output;               ///< likewise
  bool fused = false;
};
Wanted wanted(const Kernel& kernel, const Offer& offer);
bool is_wanted(const Wanted& wanted, const Request& request, const Kernel& kernel, const Offer& offer);

/// The wanted offer, or else the one with the least predicted time of the step: that of the kernel, of changing the
/// layouts of inputs, and of one pass over the output for each node that it does not fuse. Ties go to the kernel that
/// is listed first. UsageError if no kernel supports the node.
Choice choose(const Kernels& kernels, const Request& request, const Wanted* known = nullptr);

/// Likewise for a change of layout.
Choice choose_change(const Kernels& kernels, const Change& change);

}  // namespace spdnn::program
