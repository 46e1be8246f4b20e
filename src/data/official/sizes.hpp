#pragma once

#include "spdnn/types.hpp"

namespace spdnn {

inline constexpr Index kOfficialImages = 60000;  ///< MNIST's training images
inline constexpr Index kOfficialDegree = 32;     ///< inputs per neuron of an official network

}  // namespace spdnn
