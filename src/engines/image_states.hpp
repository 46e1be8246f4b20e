#pragma once

#include <span>

#include "engines/engine.hpp"

namespace spdnn {

/// Turns the states of the loaded images after the last layer into the outcome: an image is a category when it, or the
/// image it became a duplicate of, is undecided (a row with non-zeros) or saturated. `alive` is left to the engine.
Outcome resolve(std::span<const ImageState> states);

}  // namespace spdnn
