// Convolutions by taps that are read from device memory, a warp for each output.

#include "engines/cuda/conv_direct/taps.hpp"

#include <cuda_runtime_api.h>

#include <memory>

#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"

namespace spdnn::cuda {

namespace {

using program::Offer;
using program::Operands;
using program::Request;

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

double seconds_by_taps(const Request& request, const DirectShape& shape, const program::Layout& layout,
                       std::size_t nonzeros) {
  constexpr double kReads = 8;  // of a tap, for one from shared memory: they are from device memory
  constexpr double kLanes = 32;
  const double pixels = kLanes * shape.blocks * shape.out[0] * shape.out[1];
  const std::size_t bytes = bytes_of(layout, request.inputs[0].shape) + bytes_of(layout, request.output_shape());
  return seconds_on_device(static_cast<double>(bytes), kReads * static_cast<double>(nonzeros) * pixels);
}

}  // namespace

Offer tap_offer(const Request& request, const Convolution& convolution, const program::Layout& layout,
                decltype(&convolve_by_taps) convolve) {
  DirectShape shape = direct_shape({image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                                    convolution.groups, convolution.window});
  shape.blocks = static_cast<Index>(blocks_of(layout, request.output_shape()));
  const CsrMatrix& weights = convolution.weights.csr();
  const PackedTaps packed(shape, weights.entries());
  const auto fused = fused_functions(request);
  Offer offer;
  offer.fused = fused.has_value();
  offer.inputs.assign(offer.fused ? request.inputs.size() : request.own_inputs(), layout);
  offer.output = layout;
  offer.skips_zeros = true;
  offer.seconds = seconds_by_taps(request, shape, layout, weights.entries());
  offer.detail = "by taps";
  offer.constants.push_back({.part = 0,
                             .form = "taps",
                             .bytes = packed.bytes(shape),
                             .fill = [=, &convolution](std::byte* to) { pack_taps(shape, convolution, to); },
                             .on_device = true});
  offer.bind = [=, own = request.own_inputs()] {
    return program::bound([=](const Operands& at) {
      const std::byte* const from = at.constants[0];
      convolve(shape, reinterpret_cast<const Index*>(from), reinterpret_cast<const Tap*>(from + packed.begins),
               reinterpret_cast<const float*>(from + packed.taps), at.floats(0),
               with_operands(fused.value_or(std::vector<Function>()), own, at), at.results(), cudaStreamPerThread);
    });
  };
  return offer;
}

}  // namespace spdnn::cuda
