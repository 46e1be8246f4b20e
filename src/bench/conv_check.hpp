#pragma once

#include <cstddef>

#include "program/trial.hpp"
#include "spdnn/model.hpp"
#include "spdnn/outcome.hpp"

namespace spdnn::bench {

inline constexpr float kByteScale = 1.F / 128;

/// Writes the images that convolutions are timed on: every number is a multiple of 1/64 of a magnitude up to 1, which
/// all types have exactly, and a share `zeros` of them, at random, is 0 (of the others one of 129 is); of bytes, every
/// number, which counts kByteScale. Images that fill up a block are zeros.
void fill_images(std::byte* to, const program::Layout& layout, const Shape& shape, double zeros);

/// A convolution of such images.
struct ConvProblem {
  const Convolution& convolution;
  Shape input;
  double zeros = 0;     ///< as of fill_images()
  bool pooled = false;  ///< the outputs are the maxima of 2 x 2 results, side by side, or 0 if that is more
};

/// The largest ratio of a deviation to its bound, over some outputs that are computed again in fp64, those of the
/// corners among them. `trial`: of the offer, whose output has `shape`.
///
/// The bound of an output with n weights and a bias b: each product and each addition of the kernel rounds once, or
/// cuts off on tensor cores, so gamma(2 (n + 3)) (sum |w| |x| + |b|) in fp32 (see model/oracle/evaluate.hpp); u_w sum
/// |w| |x| more for weights in a narrower type, whose unit roundoff is u_w (2^-10 of tf32, which may cut off), and
/// twice that for results in one, before and after a bias is added; and gamma(t) of fp16's unit roundoff more for t
/// terms that the kernel adds in fp16, the bias being one of them where it adds all. Of a kernel that multiplies zeros
/// too, n counts all weights, and |x| is the largest, since such a kernel may transform tiles of the image. A maximum
/// deviates by the most of its numbers.
double sampled_ratio(const ConvProblem& problem, const program::Offer& offer, const Shape& shape, Precision precision,
                     const program::Trial& trial);

inline constexpr int kSampledOutputs = 256;

}  // namespace spdnn::bench
