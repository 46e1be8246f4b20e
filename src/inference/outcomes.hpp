#pragma once

#include "spdnn/outcome.hpp"

namespace spdnn {

/// Puts the outcome of images first, first+1, ... after those of the images before.
void append_outcome(Outcome& all, const Outcome& part, Index first);

}  // namespace spdnn
