#pragma once

// The kernels of conv_direct, by file. All work on images32 and run on the stream that a thread has of its own.

#include <functional>

#include "program/kernel.hpp"

namespace spdnn::cuda {

/// Between rows in the host's memory and images32.
const program::Kernel& changes_kernel();
/// Convolutions and linear nodes.
const program::Kernel& weighted_kernel();
/// Activations, combinations of two values, joined values, pools.
const program::Kernel& functions_kernel();
/// Paddings, transpositions, resizes.
const program::Kernel& moves_kernel();
/// Batch norms, softmax, reductions over axes.
const program::Kernel& axes_kernel();

/// Whether the value has the images of the step's output, and is wanted in images32; others are a constant's.
bool has_images(const program::Request& request, std::size_t input);

/// Predicted seconds of a kernel, by the bytes that it moves and its multiply-adds.
double seconds_on_device(double bytes, double multiply_adds = 0);

/// An offer of a kernel that reads and writes images32 alone, and is bound by memory.
program::Offer element_offer(const program::Request& request, std::function<void(const program::Operands&)> run);

/// Blocks of images of a value.
inline Extent blocks_of(const Shape& shape) {
  return (shape.front() + program::kImagesTogether - 1) / program::kImagesTogether;
}
/// Elements of an image of a value.
Extent elements_of_image(const Shape& shape);

}  // namespace spdnn::cuda
