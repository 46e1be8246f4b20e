// The kernel conv_direct: convolutions and linear nodes without their zeros. Others offer it in other forms.

#include "engines/cuda/conv_direct/weighted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "core/types/narrow_floats.hpp"
#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
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

DirectShape shape_of(const Request& request, const Convolution& convolution) {
  return direct_shape({image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                       convolution.groups, convolution.window});
}

/// A linear node as a convolution of one pixel: the blocks of images take the place of rows.
DirectShape shape_of(const Request& request, const Linear& linear) {
  const auto inputs = static_cast<Index>(request.inputs[0].shape[1]);
  const Index outputs = linear.weights.csr().rows;
  const auto blocks = static_cast<Index>(blocks_of(kImages32, request.output_shape()));
  return {.channels = inputs,
          .filters = outputs,
          .blocks = 1,
          .in = {blocks, 1},
          .out = {blocks, 1},
          .kernel = {1, 1},
          .stride = {1, 1},
          .dilation = {1, 1},
          .in_channel = 1,
          .in_row = inputs,
          .out_channel = 1,
          .out_row = outputs};
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

/// The tiling, and the largest part of the weights in it.
struct Fitted {
  DirectTiling tiling;
  std::size_t part_bytes;
};

std::optional<Fitted> fitted(const DirectShape& shape, const CsrMatrix& weights, std::size_t block_bytes,
                             const DirectForm& form) {
  for (std::size_t bytes = block_bytes; bytes > block_bytes / 8; bytes -= block_bytes / 8) {
    const std::optional<DirectTiling> tiling = direct_tiling(shape, weights.entries(), bytes, form);
    if (!tiling) return std::nullopt;
    const std::size_t part = DirectWeights::largest_part(shape, *tiling, weights);
    if (direct_shared_bytes(*tiling, part) <= block_bytes) return Fitted{*tiling, part};
  }
  return std::nullopt;
}

Offers direct_offers(const Request& request, const DirectShape& shape, const CsrMatrix& weights,
                     const std::vector<float>& bias, const DirectForm& form = {},
                     decltype(&convolve_directly) convolve = convolve_directly) {
  const cudaDeviceProp& device = current_device_properties();
  const std::optional<Fitted> fit = fitted(shape, weights, device.sharedMemPerBlockOptin, form);
  if (!fit) return {};
  const DirectTiling tiling = fit->tiling;
  const std::size_t entries = DirectWeights::entries(shape, tiling, weights);
  const bool fuses = form.has_functions() || request.step.fused.empty();
  const auto fused = fuses ? fused_functions(request) : std::nullopt;
  Offer offer =
      offer_of(request, fused, direct_seconds(shape, tiling, entries, static_cast<Index>(device.multiProcessorCount)));
  offer.detail = fmt::format("tiles of {} x {} pixels, {} filters per warp, {} channels at a time", form.images,
                             tiling.columns, tiling.filters, tiling.channels);
  if (form.half) {
    offer.inputs = {kHalfImages32};
    offer.output = kHalfImages32;
    offer.terms_in_fp16 = kTermsInHalves;
    offer.detail += fmt::format(", {} products are added in fp16 before their sum is added in fp32", kTermsInHalves);
  }
  if (form.equal)
    offer.detail += fmt::format(", {:.1f} % of the entries have weight 0",
                                100 * static_cast<double>(entries - weights.entries()) /
                                    static_cast<double>(std::max(entries, std::size_t{1})));
  offer.constants.push_back({.part = 0,
                             .form = fmt::format("conv_direct, {}", offer.detail),
                             .bytes = DirectWeights::bytes(shape, tiling, entries),
                             .fill =
                                 [=, &weights, &bias](std::byte* to) {
                                   DirectWeights::pack(shape, tiling, weights, bias.empty() ? nullptr : bias.data(),
                                                       to);
                                 },
                             .on_device = true});
  offer.bind = [=, part = fit->part_bytes, own = request.own_inputs()] {
    return program::bound([=](const Operands& at) {
      const Functions functions = with_operands(fused.value_or(std::vector<Function>()), own, at);
      convolve(shape, tiling, at.constants[0], part, at.inputs[0], functions, at.output, cudaStreamPerThread);
    });
  };
  return {std::move(offer)};
}

/// The taps of a convolution with groups: begins, taps, bias.
struct PackedTaps {
  std::size_t begins;
  std::size_t taps;

  static std::size_t aligned(std::size_t bytes) { return (bytes + 15) / 16 * 16; }
  PackedTaps(const DirectShape& shape, std::size_t nonzeros)
      : begins(aligned((shape.filters + std::size_t{1}) * sizeof(Index))), taps(begins + nonzeros * sizeof(Tap)) {}
  std::size_t bytes(const DirectShape& shape) const { return taps + shape.filters * sizeof(float); }
};

void pack_taps(const DirectShape& shape, const Convolution& convolution, std::byte* to) {
  const CsrMatrix& weights = convolution.weights.csr();
  const PackedTaps packed(shape, weights.entries());
  auto* const begins = reinterpret_cast<Index*>(to);
  auto* const taps = reinterpret_cast<Tap*>(to + packed.begins);
  auto* const bias = reinterpret_cast<float*>(to + packed.taps);
  const Index taps_of_channel = shape.kernel[0] * shape.kernel[1];
  const Index filters_of_group = shape.filters / convolution.groups;
  const Index channels_of_group = shape.channels / convolution.groups;
  for (Index filter = 0; filter <= shape.filters; ++filter)
    begins[filter] = static_cast<Index>(weights.offsets[filter]);
  for (Index filter = 0; filter < shape.filters; ++filter) {
    bias[filter] = convolution.bias.empty() ? 0.0F : convolution.bias[filter];
    for (Offset at = weights.offsets[filter]; at < weights.offsets[filter + 1]; ++at) {
      const Index channel = weights.indices[at] / taps_of_channel;
      const Index tap = weights.indices[at] % taps_of_channel;
      taps[at] = {.channel = filter / filters_of_group * channels_of_group + channel,
                  .row = static_cast<std::int32_t>(tap / shape.kernel[1] * shape.dilation[0]) -
                         static_cast<std::int32_t>(shape.pad[0]),
                  .column = static_cast<std::int32_t>(tap % shape.kernel[1] * shape.dilation[1]) -
                            static_cast<std::int32_t>(shape.pad[1]),
                  .weight = weights.entry_value(at)};
    }
  }
}

double seconds_by_taps(const Request& request, const DirectShape& shape, std::size_t nonzeros) {
  constexpr double kReads = 8;  // of a tap, for one from shared memory: they are from device memory
  const double pixels = static_cast<double>(shape.blocks) * program::kImagesTogether * shape.out[0] * shape.out[1];
  const std::size_t bytes = bytes_of(kImages32, request.inputs[0].shape) + bytes_of(kImages32, request.output_shape());
  return seconds_on_device(static_cast<double>(bytes), kReads * static_cast<double>(nonzeros) * pixels);
}

Offer tap_offer(const Request& request, const DirectShape& shape, const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  const PackedTaps packed(shape, weights.entries());
  const auto fused = fused_functions(request);
  Offer offer = offer_of(request, fused, seconds_by_taps(request, shape, weights.entries()));
  offer.detail = "by taps";
  offer.constants.push_back({.part = 0,
                             .form = "taps",
                             .bytes = packed.bytes(shape),
                             .fill = [=, &convolution](std::byte* to) { pack_taps(shape, convolution, to); },
                             .on_device = true});
  offer.bind = [=, own = request.own_inputs()] {
    return program::bound([=](const Operands& at) {
      const std::byte* const from = at.constants[0];
      convolve_by_taps(shape, reinterpret_cast<const Index*>(from), reinterpret_cast<const Tap*>(from + packed.begins),
                       reinterpret_cast<const float*>(from + packed.taps), at.floats(0),
                       with_operands(fused.value_or(std::vector<Function>()), own, at), at.results(),
                       cudaStreamPerThread);
    });
  };
  return offer;
}

}  // namespace

Offers convolution_offers(const Request& request, const Convolution& convolution) {
  if (!has_images(request, 0)) return {};
  const CsrMatrix& weights = convolution.weights.csr();
  if (weights.entries() > kMostNonzeros) return {};
  const DirectShape shape = shape_of(request, convolution);
  Offers offers;
  if (convolution.groups == 1) offers = direct_offers(request, shape, weights, convolution.bias);
  if (offers.empty()) offers.push_back(tap_offer(request, shape, convolution));
  return offers;
}

Offers convolution_offers_in(const DirectForm& form, decltype(&convolve_directly) convolve, const Request& request,
                             const Convolution& convolution) {
  const CsrMatrix& weights = convolution.weights.csr();
  if (!has_images(request, 0) || convolution.groups != 1 || weights.entries() > kMostNonzeros) return {};
  return direct_offers(request, shape_of(request, convolution), weights, convolution.bias, form, convolve);
}

Offers half_offers(const Request& request, const Convolution& convolution) {
  const auto too_large = [&](float weight) { return !std::isfinite(float_of_f16(nearest_f16(weight))); };
  const CsrMatrix& weights = convolution.weights.csr();
  for (Offset i = 0; i < weights.entries(); ++i)
    if (too_large(weights.entry_value(i))) return program::only({.why_not = "a weight is beyond fp16"});
  return convolution_offers_in({.half = true}, convolve_halves, request, convolution);
}

Offers linear_offers(const Request& request, const Linear& linear) {
  const CsrMatrix& weights = linear.weights.csr();
  if (request.inputs[0].shape.size() != 2 || !has_images(request, 0) || weights.entries() > kMostNonzeros) return {};
  return direct_offers(request, shape_of(request, linear), weights, linear.bias);
}

}  // namespace spdnn::cuda
