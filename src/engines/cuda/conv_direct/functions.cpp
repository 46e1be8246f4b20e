// Offers of activations, combinations and products of two values, joined values and pools.

#include "engines/cuda/conv_direct/functions.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
#include <numeric>

#include "engines/cuda/conv_direct/axes.hpp"
#include "engines/cuda/conv_direct/epilogue.hpp"
#include "engines/cuda/conv_direct/kernels.hpp"
#include "program/operation_kernel.hpp"

namespace spdnn::cuda {

namespace {

using program::Constant;
using program::Layout;
using program::Offer;
using program::Operands;
using program::Request;

std::optional<Combination> combination_of(Elementwise::Kind kind) {
  switch (kind) {
    case Elementwise::Kind::add:
      return Combination::add;
    case Elementwise::Kind::subtract:
      return Combination::subtract;
    case Elementwise::Kind::multiply:
      return Combination::multiply;
    case Elementwise::Kind::divide:
      return Combination::divide;
    case Elementwise::Kind::maximum:
      return Combination::maximum;
    case Elementwise::Kind::minimum:
      return Combination::minimum;
    case Elementwise::Kind::power:
      return Combination::power;
  }
  return std::nullopt;
}

/// How the operands of the request walk over images; `inner`: axes of matrices. Empty if one of them is neither a
/// constant of all images nor has the output's.
std::optional<Broadcast> broadcast_of(const Request& request, Index inner = 0) {
  const Shape output = request.output_shape();
  std::array<OperandShape, 2> operands;
  for (Index k = 0; k < 2; ++k) {
    const Shape& shape = request.inputs[k].shape;
    operands[k] = {shape, has_images(request, k) && shape.size() == output.size()};
    if (!operands[k].has_images && !request.model.values[request.inputs[k].value].constant) return std::nullopt;
  }
  return broadcast_over(output, operands, inner);
}

/// The offers of a kernel of two operands, of which one at most is a constant; none if both are. `run` takes a, b, the
/// blocks of images, the images of each, and y. `multiply_adds`: of an image.
Offers offers_of_two(const Request& request, const Broadcast& broadcast, double multiply_adds,
                     const std::function<void(const float*, const float*, std::size_t, Index, float*)>& run) {
  std::vector<Constant> constants;
  for (int k = 0; k < 2; ++k) {
    if (broadcast.has_images[k]) continue;
    const Tensor& tensor = *request.model.values[request.inputs[k].value].constant;
    constants.push_back(
        {.part = k,
         .form = "row-major, on the device",
         .bytes = tensor.values.bytes(),
         .fill = [&tensor](std::byte* to) { std::memcpy(to, tensor.values.data(), tensor.values.bytes()); },
         .on_device = true});
  }
  if (constants.size() == 2) return {};
  return in_both_layouts([&](const Layout& layout) {
    const std::size_t blocks = blocks_of(layout, request.output_shape());
    const Index together = images_together(layout);
    Offer offer = element_offer(
        request, layout,
        [=](const Operands& at) {
          const auto operand = [&](Index k) { return broadcast.has_images[k] ? at.floats(k) : at.constant(0); };
          run(operand(0), operand(1), blocks, together, at.results());
        },
        multiply_adds * static_cast<double>(blocks * together));
    for (Index k = 0; k < 2; ++k)
      if (!broadcast.has_images[k]) offer.inputs[k] = program::kRows;  // not read
    offer.constants = constants;
    return offer;
  });
}

Offer pool_offer(const Request& request, const Pool& node, const Layout& layout) {
  const ImageExtents in = image_extents(request.inputs[0].shape);
  Pooling pooling{window_axes(in, image_extents(request.output_shape()), node.window)};
  std::copy(node.window.pad_end.begin(), node.window.pad_end.end(), pooling.pad_end);
  pooling.maximum = node.kind == Pool::Kind::max;
  pooling.count_padding = node.count_padding;
  const std::size_t planes = blocks_of(layout, request.output_shape()) * static_cast<std::size_t>(in.channels);
  return element_offer(request, layout, [=, together = images_together(layout)](const Operands& at) {
    if (layout == kHalves)
      pool_halves(at.inputs[0], planes, pooling, at.output, cudaStreamPerThread);
    else
      pool(at.floats(0), planes, together, pooling, at.results(), cudaStreamPerThread);
  });
}

/// The pool whose window is a plane.
Pool as_pool(const Request& request, const GlobalPool& node) {
  const ImageExtents in = image_extents(request.inputs[0].shape);
  return {.kind = node.kind,
          .window = {.kernel = {static_cast<Index>(in.height), static_cast<Index>(in.width)}},
          .count_padding = false};
}

}  // namespace

Offers activation_offers(const Request& request, const Activation& activation) {
  if (!has_images(request, 0)) return {};
  const Shape shape = request.output_shape();
  if (activation.kind != Activation::Kind::prelu)
    return in_both_layouts([&](const Layout& layout) {
      return element_offer(
          request, layout,
          [count = elements_of(layout, shape), function = function_of(activation), kind = activation.kind,
           alpha = activation.alpha](const Operands& at) {
            if (function)
              apply_functions(at.floats(0), count, {{*function}, 1}, at.results(), cudaStreamPerThread);
            else
              apply_library_function(at.floats(0), count, static_cast<ElementFunction>(kind), alpha, at.results(),
                                     cudaStreamPerThread);
          });
    });
  if (shape.size() < 2) return {};
  const auto channels = static_cast<std::size_t>(shape[1]);
  const auto plane = static_cast<std::size_t>(elements_of_image(shape)) / std::max(channels, std::size_t{1});
  return in_both_layouts([&](const Layout& layout) {
    Offer offer =
        element_offer(request, layout,
                      [=, blocks = blocks_of(layout, shape), together = images_together(layout)](const Operands& at) {
                        apply_slopes(at.floats(0), blocks, together, channels, plane, at.constant(0), at.results(),
                                     cudaStreamPerThread);
                      });
    offer.constants.push_back(
        device_constant<float>("a slope per channel", channels, [&slopes = activation.alphas, channels](float* all) {
          for (std::size_t c = 0; c < channels; ++c) all[c] = slopes.size() == 1 ? slopes[0] : slopes[c];
        }));
    return offer;
  });
}

Offers elementwise_offers(const Request& request, const Elementwise& elementwise) {
  const std::optional<Combination> combination = combination_of(elementwise.kind);
  const std::optional<Broadcast> broadcast = broadcast_of(request);
  if (!combination || !broadcast) return {};
  return offers_of_two(request, *broadcast, 0,
                       [=](const float* a, const float* b, std::size_t blocks, Index together, float* y) {
                         combine(a, b, blocks, together, *broadcast, *combination, y, cudaStreamPerThread);
                       });
}

Offers product_offers(const Request& request, const MatMul& node) {
  const std::optional<Broadcast> broadcast = broadcast_of(request, 2);
  if (!broadcast) return {};
  const Shape y = request.output_shape();
  const MatrixProduct product{.matrices = *broadcast,
                              .rows = static_cast<Index>(y[y.size() - 2]),
                              .terms = static_cast<Index>(request.inputs[0].shape.back()),
                              .columns = static_cast<Index>(y.back()),
                              .transposed = node.transposed};
  const double of_image = static_cast<double>(elements_of_image(y)) * product.terms;
  return offers_of_two(request, *broadcast, of_image,
                       [=](const float* a, const float* b, std::size_t blocks, Index together, float* results) {
                         multiply_matrices(a, b, blocks, together, product, results, cudaStreamPerThread);
                       });
}

Offers concat_offers(const Request& request, const Concat& concat) {
  if (concat.axis == 0) return {};
  struct Part {
    std::size_t own;
    std::size_t first;
  };
  const auto product = [](Shape::const_iterator begin, Shape::const_iterator end) {
    return static_cast<std::size_t>(std::accumulate(begin, end, Extent{1}, std::multiplies<>()));
  };
  const Shape output = request.output_shape();
  const std::size_t outer = product(output.begin() + 1, output.begin() + concat.axis);
  const std::size_t all = product(output.begin() + concat.axis, output.end());
  std::vector<Part> parts;
  std::size_t first = 0;
  for (std::size_t i = 0; i < request.own_inputs(); ++i) {
    if (!has_images(request, i)) return {};
    const Shape& shape = request.inputs[i].shape;
    const std::size_t own = product(shape.begin() + concat.axis, shape.end());
    parts.push_back({own, first});
    first += own;
  }
  return in_both_layouts([&](const Layout& layout) {
    return element_offer(
        request, layout,
        [=, blocks = blocks_of(layout, output), together = images_together(layout)](const Operands& at) {
          for (std::size_t i = 0; i < parts.size(); ++i)
            join(at.floats(i), blocks, together, outer, parts[i].own, all, parts[i].first, at.results(),
                 cudaStreamPerThread);
        });
  });
}

Offers pool_offers(const Request& request, const Pool& node) {
  if (!has_images(request, 0)) return {};
  return in_both_layouts([&](const Layout& layout) { return pool_offer(request, node, layout); });
}

Offers half_pool_offers(const Request& request, const Pool& node) {
  if (!has_images(request, 0)) return {};
  return program::only(pool_offer(request, node, kHalves));
}

Offers global_pool_offers(const Request& request, const GlobalPool& node) {
  return pool_offers(request, as_pool(request, node));
}

Offers half_global_pool_offers(const Request& request, const GlobalPool& node) {
  return half_pool_offers(request, as_pool(request, node));
}

}  // namespace spdnn::cuda
