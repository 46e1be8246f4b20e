#pragma once

#include <vector>

#include "engines/cuda/conv_direct/direct.hpp"
#include "program/kernel.hpp"

namespace spdnn::cuda {

/// The offers of a kernel that convolves in a form of its own; none if a convolution has groups of few filters
/// or does not fit.
std::vector<program::Offer> convolution_offers_in(const DirectForm& form, decltype(&convolve_directly) convolve,
                                                  const program::Request& request, const Convolution& convolution);

}  // namespace spdnn::cuda
