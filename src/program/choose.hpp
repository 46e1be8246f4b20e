#pragma once

#include <string>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

struct Choice {
  const Kernel* kernel = nullptr;
  Offer offer{};
  std::vector<std::string> remarks{};  ///< what runs and why, where it depends on the weights
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

/// The offer that is wanted, or else the one with which the step is done soonest: the time predicted by the kernel, and
/// that of what follows from its layouts: inputs that are not there in them are changed, and nodes that it leaves to
/// others take a pass over the output each. Of equals, that of the kernel listed first. UsageError where no kernel
/// takes the node.
Choice choose(const Kernels& kernels, const Request& request, const Wanted* known = nullptr);

/// Likewise for a change of layout.
Choice choose_change(const Kernels& kernels, const Change& change);

}  // namespace spdnn::program
