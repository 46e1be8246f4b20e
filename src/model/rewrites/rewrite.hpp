#pragma once

#include <string>
#include <vector>

#include "spdnn/model.hpp"
#include "spdnn/rewrites.hpp"

namespace spdnn {

/// Applies the chosen exact rewrites in order, because each may enable the next; engines apply epilogues. The bounds of
/// the given model hold for the rewritten one. Returns a note for each rewrite that changed the model. The shapes must
/// be known.
std::vector<std::string> rewrite(Model& model, const Rewrites& rewrites);

}  // namespace spdnn
