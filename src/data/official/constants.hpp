#pragma once

#include "spdnn/types.hpp"

namespace spdnn {

inline constexpr Index kOfficialImages = 60000;  ///< MNIST's training images
inline constexpr Index kOfficialDegree = 32;     ///< inputs per neuron of an official network

/// The basis of a verdict on an official problem, in Verdict::against and in JSON lines: network and images were
/// identified as the official ones by their digests.
inline constexpr const char* kOfficialTruth = "the official category list's digest";

}  // namespace spdnn
