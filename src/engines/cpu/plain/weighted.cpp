// The kernels plain_convolution and plain_linear.

#include <algorithm>
#include <cstring>

#include "engines/cpu/plain/convolution.hpp"
#include "engines/cpu/plain/kernels.hpp"
#include "program/epilogue.hpp"

namespace spdnn::plain {

namespace {

/// Rows and images with their channels innermost are the same to it.
Offer offer_of(const Request& request, const ConvolutionShape& shape, const CsrMatrix& weights,
               const std::vector<float>& bias, Order order) {
  Offer offer{.fused = true};
  offer.inputs.assign(request.inputs.size(), Layout{order});
  offer.output = {order};
  offer.scratch = std::max<std::size_t>(convolution_scratch(shape) * sizeof(float), 1);
  offer.constants.push_back(
      {0, "plain, " + std::to_string(filters_together()) + " filters side by side", packed_size(shape) * sizeof(float),
       [shape, &weights](std::byte* to) { pack_weights(shape, weights, reinterpret_cast<float*>(to)); }});
  if (!bias.empty())
    offer.constants.push_back({1, "plain", bias.size() * sizeof(float),
                               [&bias](std::byte* to) { std::memcpy(to, bias.data(), bias.size() * sizeof(float)); }});
  offer.seconds = predicted_seconds(shape, request.threads);
  offer.bind = [shape, has_bias = !bias.empty(), epilogue = program::Epilogue(request)] {
    return program::bound([=](const Operands& at) {
      Finish finish;
      if (!epilogue.empty())
        finish = [&](float* results, std::size_t count) {
          epilogue.apply(results, count, static_cast<std::size_t>(results - at.results()), at);
        };
      convolve(shape, at.constant(0), has_bias ? at.constant(1) : nullptr, at.floats(0),
               reinterpret_cast<float*>(at.scratch), at.results(), finish);
    });
  };
  return offer;
}

}  // namespace

std::vector<Offer> convolution(const Request& request, const Convolution& convolution) {
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, convolution.window};
  return only(offer_of(request, shape, convolution.weights, convolution.bias, Order::nhwc));
}

std::vector<Offer> linear(const Request& request, const Linear& linear) {
  const Shape& input = request.inputs[0].shape;
  const Extent rows = static_cast<Extent>(elements(input).value()) / std::max<Extent>(input.back(), 1);
  const ConvolutionShape shape{{1, linear.weights.cols(), 1, rows}, {1, linear.weights.rows(), 1, rows}};
  return only(offer_of(request, shape, linear.weights, linear.bias, Order::rows));
}

}  // namespace spdnn::plain
