#pragma once

// Convolutions in kHalves, for precision fp16-sums.

#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "engines/cuda/conv_direct/direct.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"

namespace spdnn::cuda {

/// Non-zero weights of a filter, of which an error bound of their sum in fp16 is still less than the sum of absolute
/// values itself.
inline constexpr Offset kMostTermsInHalves = 1020;

/// Whether no filter has more non-zero weights, and weights and bias are within fp16.
bool fits_halves(const Convolution& convolution);

/// That of the kernel by taps, which computes the bits of generated code in halves.
program::Offer half_offer_by_taps(const program::Request& request, const Convolution& convolution);

/// Binds a convolution of values in kHalves by an offer in fp32, between changes of layout, whose values lie in the
/// scratch memory. The functions follow in halves, where they hide no NaN. The offer's constants follow `others`.
std::function<std::unique_ptr<program::Bound>()> bind_in_fp32(const program::Request& request,
                                                              const program::Offer& offer,
                                                              const std::vector<Function>& functions,
                                                              std::size_t others);

/// Bytes of memory on the device that this takes.
std::size_t scratch_in_fp32(const program::Request& request);

/// Between kHalves and other layouts of a device, or rows of the host.
const program::Kernel& half_changes_kernel();

/// As convolve_by_taps(), of two images in fp16 for each lane. Sums and functions are computed in fp16, and the latter
/// are those that can be generated. Where a number exceeds fp16, the result is NaN.
void convolve_halves_by_taps(const DirectShape& shape, const Index* begins, const Tap* taps, const float* bias,
                             const float* x, const Functions& functions, float* y, CUstream_st* stream);

// Images of `elements` numbers each. `blocks`: of images32; the last block of halves is filled up with zeros. Numbers
// that exceed fp16 become NaN; then functions that can be generated are applied.
void images32_to_halves(const float* from, std::size_t blocks, std::size_t elements, const Functions& functions,
                        std::byte* to, CUstream_st* stream);
void halves_to_images32(const std::byte* from, std::size_t blocks, std::size_t elements, float* to,
                        CUstream_st* stream);

}  // namespace spdnn::cuda
