#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/rewrites.hpp"

namespace spdnn {

/// The chosen exact rewrites, one after another, as each may leave something to the next; epilogues are the engines'.
/// The bounds of the given model hold for the rewritten one. Returns notes on what those did that found something to
/// do. The shapes must be known.
std::vector<std::string> rewrite(Model& model, const Rewrites& rewrites);

}  // namespace spdnn
