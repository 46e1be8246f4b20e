#pragma once

#include "spdnn/model.hpp"
#include "support/networks.hpp"

// Windows at random for tests of convolutions.

namespace spdnn::testing {

/// Up to these numbers along each axis.
struct WindowLimits {
  Index kernel = 1;
  Index stride = 1;
  Index dilation = 1;
  Index padding = 0;
};
inline Window random_window(Rng& rng, const WindowLimits& most) {
  const auto from = [&](Index least, Index limit) { return least + static_cast<Index>(rng.below(limit - least + 1)); };
  Window window;
  for (const std::size_t axis : {0U, 1U}) {
    window.kernel[axis] = from(1, most.kernel);
    window.stride[axis] = from(1, most.stride);
    window.dilation[axis] = from(1, most.dilation);
    window.pad_begin[axis] = from(0, most.padding);
    window.pad_end[axis] = from(0, most.padding);
  }
  return window;
}

/// The smallest image, without padding, along an axis.
inline Extent covered(const Window& window, std::size_t axis) {
  return Extent{(window.kernel[axis] - 1) * window.dilation[axis] + 1};
}

}  // namespace spdnn::testing
