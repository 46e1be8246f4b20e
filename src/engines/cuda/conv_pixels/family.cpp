// The family conv_pixels: convolutions and linear nodes of few images.

#include "program/family.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <memory>

#include "core/text/amounts.hpp"
#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_pixels/pixels.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn {

SPDNN_DECLARE_KERNELS(conv_pixels)

namespace cuda {

namespace {

using program::kDeviceRows;
using program::Offer;
using program::Operands;
using program::Request;

constexpr Extent kMostImages = 64;  ///< beyond, a lane's images are better than its pixels in any layer

/// A linear node as a convolution of one pixel: all that comes before the last axis is images.
ConvolutionShape convolution_of(const Request& request, const Linear& linear) {
  const Extent outputs = linear.weights.rows();
  const Extent images = request.images * elements_of_image(request.output_shape()) / outputs;
  return {{images, linear.weights.cols(), 1, 1}, {images, outputs, 1, 1}, 1, {}};
}

/// In one tiling. `shape`: of the request's images; `whole`: of the batch that the tiling is for.
Offer offer_of(const Request& request, const PixelShape& shape, const PixelShape& whole, const PixelTiling& tiling,
               const CsrMatrix& weights, const std::vector<float>& bias) {
  const PixelParts parts = parts_of(shape, tiling, weights);
  const auto fused = fused_functions(request);
  Offer offer;
  offer.fused = fused.has_value();
  offer.inputs.assign(offer.fused ? request.inputs.size() : request.own_inputs(), kDeviceRows);
  offer.output = kDeviceRows;
  offer.skips_zeros = tiling.filters == 1;
  offer.seconds = tiling.seconds * static_cast<double>(shape.images) / whole.images;
  offer.detail = fmt::format("{} per lane, {} at a time, by {}", counted(tiling.pixels, "pixel", "pixels"),
                             counted(tiling.filters, "filter", "filters"), counted(tiling.warps, "warp", "warps"));
  offer.constants.push_back(
      {.part = 0,
       .form = fmt::format("conv_pixels, {}", offer.detail),
       .bytes = parts.bytes,
       .fill = [=, &weights, &bias](std::byte* to) { pack(packed(shape, tiling, weights), bias, parts, to); },
       .on_device = true});
  offer.bind = [=, own = request.own_inputs(), shared_bytes = pixel_shared_bytes(shape, tiling, parts.entries)] {
    return program::bound([=](const Operands& at) {
      convolve_pixels(shape, tiling, at.constants[0], parts, shared_bytes, at.floats(0), at.first_input_is_older,
                      with_operands(fused.value_or(std::vector<Function>()), own, at), at.results(),
                      cudaStreamPerThread);
    });
  };
  return offer;
}

Offers offers_of(const Request& request, const ConvolutionShape& convolution, const CsrMatrix& weights,
                 const std::vector<float>& bias) {
  const std::optional<PixelShape> shape = pixel_shape(convolution);
  if (!shape || !has_images(request, 0) || request.kernels_for > kMostImages) return {};
  PixelShape whole = *shape;  // all batches have the same tiling, and so the same order of sums
  whole.images = static_cast<Index>(shape->images / request.images * request.kernels_for);
  const cudaDeviceProp& device = current_device_properties();
  std::vector<PixelTiling> tilings =
      pixel_tilings(whole, weights, static_cast<Index>(device.multiProcessorCount), device.sharedMemPerBlockOptin);
  if (!request.every_tiling && !tilings.empty()) tilings.resize(1);
  Offers offers;
  for (const PixelTiling& tiling : tilings) offers.push_back(offer_of(request, *shape, whole, tiling, weights, bias));
  return offers;
}

Offers convolution_offers_in_rows(const Request& request, const Convolution& convolution) {
  return offers_of(request,
                   {image_extents(request.inputs[0].shape), image_extents(request.output_shape()), convolution.groups,
                    convolution.window},
                   convolution.weights.csr(), convolution.bias);
}

Offers linear_offers_in_rows(const Request& request, const Linear& linear) {
  if (request.inputs[0].shape.size() < 2 || linear.weights.rows() == 0) return {};
  return offers_of(request, convolution_of(request, linear), linear.weights.csr(), linear.bias);
}

}  // namespace

}  // namespace cuda

program::FamilyKernels kernels_conv_pixels(Precision precision) {
  static const program::OperationKernel kernels[] = {{"conv_pixels", cuda::convolution_offers_in_rows},
                                                     {"conv_pixels", cuda::linear_offers_in_rows}};
  if (precision != Precision::fp32)
    return {.why_not = fmt::format("conv_pixels does not compute in {}", to_string(precision))};
  return {.kernels = program::all_of(kernels)};
}

}  // namespace spdnn
