// The kernel conv_direct: convolutions and linear nodes without their zeros. Others offer it in other forms.

#include "engines/cuda/conv_direct/weighted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/groups.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "engines/cuda/conv_direct/taps.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "model/operations/geometry.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn::cuda {

namespace {

using program::Constant;
using program::kImages32;
using program::Offer;
using program::Operands;
using program::Request;

constexpr Offset kMostNonzeros = Offset{1} << 28U;  ///< their places have 32 bits

ConvolutionShape convolution_shape(const Request& request, const Convolution& convolution) {
  return {image_extents(request.inputs[0].shape), image_extents(request.output_shape()), convolution.groups,
          convolution.window};
}

DirectShape shape_of(const Request& request, const Linear& linear) {
  const Shape results = request.output_shape();
  const Index outputs = linear.weights.rows();
  return product_shape(linear.weights.cols(), outputs,
                       static_cast<Extent>(blocks_of(kImages32, results)) * elements_of_image(results) / outputs);
}

constexpr program::Layout kHalfImages32{program::Order::images32, program::ElementType::fp16, program::Place::device};

/// An offer without constants and kernel, if the device has the fused functions.
Offer offer_of(const Request& request, const std::optional<std::vector<Function>>& fused, double seconds) {
  Offer offer;
  offer.fused = fused.has_value();
  offer.inputs.assign(offer.fused ? request.inputs.size() : request.own_inputs(), kImages32);
  offer.output = kImages32;
  offer.skips_zeros = true;
  offer.seconds = seconds;
  return offer;
}

/// The work of a launch: a step, or a group of it.
struct Part {
  DirectShape shape;
  std::shared_ptr<const CsrMatrix> weights;
  const float* bias;  ///< null, or of the first filter
  std::size_t x_at = 0, y_at = 0;
  DirectTiling tiling{};
  std::size_t part_bytes = 0;  ///< see DirectWeights
  std::size_t entries = 0;
  std::size_t weights_at = 0;  ///< in the constant

  std::size_t bytes() const { return (DirectWeights::bytes(shape, tiling, entries) + 15) / 16 * 16; }
};

const float* data_of(const std::vector<float>& bias, Index first) {
  return bias.empty() ? nullptr : bias.data() + first;
}

Part whole(const DirectShape& shape, const CsrMatrix& weights, const std::vector<float>& bias) {
  return {shape, {std::shared_ptr<void>(), &weights}, data_of(bias, 0)};
}

/// The parts of a convolution; none if a group has fewer filters than a block of threads has warps.
std::vector<Part> parts_of(const Request& request, const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  if (convolution.groups == 1)
    return {whole(shape_to_tile(direct_shape(convolution_shape(request, convolution))), weights, convolution.bias)};
  std::vector<Part> parts;
  if (weights.rows / convolution.groups < kDirectWarps) return parts;
  for (DirectGroup& group : direct_groups(convolution_shape(request, convolution), weights))
    parts.push_back({group.shape, std::make_shared<const CsrMatrix>(std::move(group.weights)),
                     data_of(convolution.bias, group.first_filter), group.x_at, group.y_at});
  return parts;
}

/// Finds the tiling of a part; false if it does not fit.
bool fit(Part& part, const DirectDevice& device, const DirectForm& form) {
  for (DirectDevice less = device; less.block_bytes > device.block_bytes / 8;
       less.block_bytes -= device.block_bytes / 8) {
    const std::optional<DirectTiling> tiling = direct_tiling(part.shape, part.weights->entries(), less, form);
    if (!tiling) return false;
    part.tiling = *tiling;
    part.part_bytes = DirectWeights::largest_part(part.shape, *tiling, *part.weights);
    part.entries = DirectWeights::entries(part.shape, *tiling, *part.weights);
    if (direct_shared_bytes(*tiling, part.part_bytes) <= device.block_bytes) return true;
  }
  return false;
}

/// Functions of results that begin at a number of the output.
Functions moved(Functions functions, std::size_t to) {
  for (Index i = 0; i < functions.count; ++i)
    if (functions.all[i].other != nullptr) functions.all[i].other += to;
  return functions;
}

std::string detail_of(const std::vector<Part>& parts, const DirectForm& form) {
  const DirectTiling& tiling = parts.front().tiling;
  std::string detail = fmt::format("tiles of {} x {} pixels, {} filters per warp, {} channels at a time", form.images,
                                   tiling.columns, tiling.filters, tiling.channels);
  if (parts.size() > 1) detail += fmt::format(", {} groups one after another", parts.size());
  if (form.half)
    detail += fmt::format(", {} products are added in fp16 before their sum is added in fp32", kTermsInHalves);
  if (!form.equal) return detail;
  double entries = 0;
  double nonzeros = 0;
  for (const Part& part : parts) {
    entries += static_cast<double>(part.entries);
    nonzeros += static_cast<double>(part.weights->entries());
  }
  return detail +
         fmt::format(", {:.1f} % of the entries have weight 0", 100 * (entries - nonzeros) / std::max(entries, 1.0));
}

Offers direct_offers(const Request& request, std::vector<Part> parts, const DirectForm& form = {},
                     decltype(&convolve_directly) convolve = convolve_directly) {
  const cudaDeviceProp& properties = current_device_properties();
  const DirectDevice device{static_cast<Index>(properties.multiProcessorCount), properties.sharedMemPerBlockOptin};
  std::size_t bytes = 0;
  double seconds = 0;
  for (Part& part : parts) {
    if (!fit(part, device, form)) return {};
    part.weights_at = bytes;
    bytes += part.bytes();
    seconds += direct_seconds(part.shape, part.tiling, part.entries, device.multiprocessors);
  }
  if (parts.empty()) return {};
  const bool fuses = form.has_functions() || request.step.fused.empty();
  const auto fused = fuses ? fused_functions(request) : std::nullopt;
  Offer offer = offer_of(request, fused, seconds);
  offer.detail = detail_of(parts, form);
  if (form.half) {
    offer.inputs = {kHalfImages32};
    offer.output = kHalfImages32;
    offer.terms_in_fp16 = kTermsInHalves;
  }
  offer.constants.push_back({.part = 0,
                             .form = fmt::format("conv_direct, {}", offer.detail),
                             .bytes = bytes,
                             .fill =
                                 [parts](std::byte* to) {
                                   for (const Part& part : parts)
                                     DirectWeights::pack(part.shape, part.tiling, *part.weights, part.bias,
                                                         to + part.weights_at);
                                 },
                             .on_device = true});
  offer.bind = [=, own = request.own_inputs()] {
    return program::bound([=](const Operands& at) {
      const Functions functions = with_operands(fused.value_or(std::vector<Function>()), own, at);
      for (const Part& part : parts)
        convolve(part.shape, part.tiling, at.constants[0] + part.weights_at, part.part_bytes,
                 at.inputs[0] + part.x_at * form.pixel_bytes(), moved(functions, part.y_at * program::kImagesTogether),
                 at.output + part.y_at * form.pixel_bytes(), cudaStreamPerThread);
    });
  };
  return {std::move(offer)};
}

}  // namespace

Offers convolution_offers(const Request& request, const Convolution& convolution) {
  if (!has_images(request, 0)) return {};
  const CsrMatrix& weights = convolution.weights.csr();
  if (weights.entries() > kMostNonzeros) return {};
  Offers offers = direct_offers(request, parts_of(request, convolution));
  if (offers.empty() || convolution.groups > 1)
    offers.push_back(tap_offer(request, convolution, kImages32, convolve_by_taps));
  return offers;
}

Offers convolution_offers_in(const DirectForm& form, decltype(&convolve_directly) convolve, const Request& request,
                             const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  if (!has_images(request, 0) || weights.entries() > kMostNonzeros) return {};
  const auto too_large = [&](float weight) { return !std::isfinite(float_of_f16(nearest_f16(weight))); };
  for (Offset i = 0; form.half && i < weights.entries(); ++i)
    if (too_large(weights.entry_value(i))) return program::only({.why_not = "a weight is beyond fp16"});
  return direct_offers(request, parts_of(request, convolution), form, convolve);
}

Offers half_offers(const Request& request, const Convolution& convolution) {
  return convolution_offers_in({.half = true}, convolve_halves, request, convolution);
}

Offers linear_offers(const Request& request, const Linear& linear) {
  const CsrMatrix& weights = linear.weights.csr();
  if (request.inputs[0].shape.size() < 2 || !has_images(request, 0) || weights.rows == 0 ||
      weights.entries() > kMostNonzeros)
    return {};
  return direct_offers(request, {whole(shape_of(request, linear), weights, linear.bias)});
}

}  // namespace spdnn::cuda
