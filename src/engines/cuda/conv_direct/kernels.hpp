#pragma once

// The kernels of conv_direct, which run on the stream that a thread has of its own. Convolutions and linear nodes work
// on images32, the others on rows of the device as well: these are blocks of one image.

#include <functional>
#include <utility>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::cuda {

/// Between rows of the host, rows of the device, and images32.
const program::Kernel& changes_kernel();

// The offers for nodes of an operation, by file.
using Offers = std::vector<program::Offer>;
Offers convolution_offers(const program::Request& request, const Convolution& convolution);  // weighted.cpp
Offers half_offers(const program::Request& request, const Convolution& convolution);         ///< in fp16
Offers linear_offers(const program::Request& request, const Linear& linear);
Offers activation_offers(const program::Request& request, const Activation& activation);  // functions.cpp
Offers elementwise_offers(const program::Request& request, const Elementwise& elementwise);
Offers product_offers(const program::Request& request, const MatMul& product);
Offers concat_offers(const program::Request& request, const Concat& concat);
Offers pool_offers(const program::Request& request, const Pool& node);
Offers global_pool_offers(const program::Request& request, const GlobalPool& node);
Offers half_pool_offers(const program::Request& request, const Pool& node);  ///< in kHalves
Offers half_global_pool_offers(const program::Request& request, const GlobalPool& node);
Offers pad_offers(const program::Request& request, const Pad& pad);  // moves.cpp
Offers transpose_offers(const program::Request& request, const Transpose& transpose);
Offers resize_offers(const program::Request& request, const Resize& node);
Offers batch_norm_offers(const program::Request& request, const BatchNorm& norm);  // axes.cpp
Offers softmax_offers(const program::Request& request, const Softmax& node);
Offers reduce_offers(const program::Request& request, const Reduce& node);

/// Numbers of fp16, two of a lane, of precision fp16-sums.
inline constexpr program::Layout kHalves{program::Order::images64, program::ElementType::fp16, program::Place::device};

/// Whether the value has the images of the step's output; others are a constant's.
bool has_images(const program::Request& request, std::size_t input);

/// Predicted seconds of a kernel, by the bytes that it moves and its multiply-adds.
double seconds_on_device(double bytes, double multiply_adds = 0);

/// Images of a block.
inline Index images_together(const program::Layout& layout) {
  return static_cast<Index>(program::images_together(layout.order));
}

/// An offer of a kernel that reads and writes one layout alone, and is bound by memory if it has no multiply-adds.
program::Offer element_offer(const program::Request& request, const program::Layout& layout,
                             std::function<void(const program::Operands&)> run, double multiply_adds = 0);

/// The offers of such a kernel in images32 and in rows; make(layout) makes one.
template <class Make>
Offers in_both_layouts(Make make) {
  Offers offers;
  for (const program::Layout& layout : {program::kImages32, program::kDeviceRows}) offers.push_back(make(layout));
  return offers;
}

/// A kernel's only constant: `count` elements of a type in the device's memory.
template <class T>
program::Constant device_constant(const char* form, std::size_t count, std::function<void(T*)> fill) {
  return {.part = 0,
          .form = form,
          .bytes = count * sizeof(T),
          .fill = [fill = std::move(fill)](std::byte* to) { fill(reinterpret_cast<T*>(to)); },
          .on_device = true};
}

/// Blocks of images of a value.
inline std::size_t blocks_of(const program::Layout& layout, const Shape& shape) {
  const Extent together = images_together(layout);
  return static_cast<std::size_t>((shape.front() + together - 1) / together);
}
/// Elements of an image of a value.
Extent elements_of_image(const Shape& shape);

}  // namespace spdnn::cuda
