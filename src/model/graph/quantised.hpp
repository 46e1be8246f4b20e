#pragma once

#include <optional>
#include <string>

#include "spdnn/model.hpp"

namespace spdnn {

/// A note for people on values that are rounded, moved by a zero point if there is one, and kept within the numbers of
/// an integer type of 8 or 16 bits, as readers represent quantisation; empty if there are none.
std::optional<std::string> note_on_quantised(const Model& model);

}  // namespace spdnn
