// Convolutions and linear nodes: nodes with weights, and the nodes that are fused with them.

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <variant>

#include "engines/cpu/onednn/operands.hpp"
#include "engines/cpu/onednn/pieces.hpp"
#include "engines/cpu/onednn/primitive.hpp"
#include "model/operations/geometry.hpp"
#include "program/predict.hpp"
#include "program/threads.hpp"

namespace spdnn::onednn {

namespace {

using dnnl::prop_kind;
using program::Layout;
using program::Offer;
using program::Request;

/// Constants are shared by node, part and form; a bias that is divided by scales has other bytes.
enum Part { kWeights, kBias, kScaledBias };

/// oneDNN's mask of numbers that differ along axis 1 of a result.
constexpr int kByFilter = 1 << 1;

Desc bias_desc(std::span<const float> bias) {
  return bias.empty() ? Desc() : plain_desc({static_cast<dnnl::memory::dim>(bias.size())});
}

/// oneDNN's implementation: its forms of operands, and the primitive.
struct Implementation {
  Primitive primitive;
  Desc source;
  Desc weights;
  Desc destination;

  /// Whether it is one of those that oneDNN has for completeness, slower than plain loops.
  bool plain_loops() const { return primitive.name().find("ref") != std::string::npos; }
};

/// An operation on a result before it is stored: a function, or the addition of a value.
struct PostOperation {
  EltwiseFunction function{};
  bool adds = false;
};

std::vector<PostOperation> post_operations(const Request& request) {
  std::vector<PostOperation> operations;
  for (const Index number : request.step.fused) {
    const Node& node = request.model.nodes[number];
    const auto line = line_of(request.model, node);
    if (const auto* const activation = std::get_if<Activation>(&node.operation)) {
      operations.push_back({.function = function_of(*activation)});
    } else if (!line) {
      operations.push_back({.adds = true});
    } else if (!operations.empty() && operations.back().function.algorithm == dnnl::algorithm::eltwise_linear) {
      operations.back().function.beta += line->offset;  // a sum after a product
    } else {
      operations.push_back({.function = {dnnl::algorithm::eltwise_linear, line->slope, line->offset}});
    }
  }
  return operations;
}

/// What an operation does besides its sums.
struct Attributes {
  std::vector<float> scales{};  ///< of sums in int8, by row
  std::vector<PostOperation> operations{};
  Desc destination{};  ///< of the values that are added
};

dnnl::post_ops as_post_ops(const std::vector<PostOperation>& operations, const Desc& destination) {
  dnnl::post_ops made;
  for (const auto& [function, adds] : operations) {
    if (adds)
      made.append_binary(dnnl::algorithm::binary_add, destination);
    else
      made.append_eltwise(1.F, function.algorithm, function.alpha, function.beta);
  }
  return made;
}

/// Tells attributes of one operation apart; the destination follows from the rest.
std::string text_of(const Attributes& attributes) {
  std::string text(reinterpret_cast<const char*>(attributes.scales.data()), attributes.scales.size() * sizeof(float));
  for (const auto& [function, adds] : attributes.operations)
    text += fmt::format(";{} {} {} {}", static_cast<int>(function.algorithm), function.alpha, function.beta, adds);
  return text;
}

template <class Forward>
Implementation implementation_of(const typename Forward::desc& of, const Attributes& attributes) {
  const Primitive primitive([of, attributes] {
    return found<Forward>(of, text_of(attributes), [&] {
      dnnl::primitive_attr made = with_user_scratchpad();
      if (!attributes.scales.empty()) made.set_output_scales(kByFilter, attributes.scales);
      made.set_post_ops(as_post_ops(attributes.operations, attributes.destination));
      return typename Forward::primitive_desc(of, made, cpu());
    });
  });
  return {primitive, primitive.argument(DNNL_ARG_SRC).second, primitive.argument(DNNL_ARG_WEIGHTS).second,
          primitive.argument(DNNL_ARG_DST).second};
}

/// A node with weights in oneDNN's terms, or some rows of its weights.
struct Weighted {
  Index cols;
  std::span<const float> bias;
  double efficiency;          ///< the fraction of the peak, unless the implementation has plain loops
  double seconds_of_weights;  ///< to read them
  Desc plain_weights;
  std::function<Implementation(const Attributes&)> implementation_for;
  /// The layouts of its forms of images, or of rows; empty if they have none.
  std::function<std::optional<Layout>(const Shape&, const Desc&)> layout_of;
  std::function<std::vector<float>()> dense_weights;
  std::vector<float> scales{};  ///< of sums in int8, by row
  bool fuses_additions = true;
};

// Measured on one core of a Zen 3, on convolutions of 16 to 2048 channels.

/// The fraction of the peak: with few filters, a pixel that is read serves few registers of sums. Depthwise, it leaves
/// rows of padding out, of which there may be nothing else.
double efficiency_of(const Convolution& convolution, const ConvolutionShape& shape) {
  constexpr double kLeastShare = 0.01;
  if (shape.groups > 1 && shape.channels() == 1)
    return program::kDepthwiseEfficiency / std::max(share_of_rows_inside(shape), kLeastShare);
  constexpr double kRegister = 8;
  constexpr double kEnough = 4;  // registers
  const double filters = static_cast<double>(convolution.weights.rows()) / convolution.groups;
  const double registers = std::clamp(filters / kRegister, 1.0, kEnough);
  return program::kDenseEfficiency / (1 + 1.4 * (1 / (registers * registers) - 1 / (kEnough * kEnough)));
}

/// Weights that do not stay in L2 are read from memory.
double seconds_of_weights(const Convolution& convolution) {
  constexpr double kStay = 262144;
  constexpr double kBytesPerSecond = 1.6e10;
  const double bytes = sizeof(float) * static_cast<double>(convolution.weights.rows()) * convolution.weights.cols();
  return std::max(bytes - kStay, 0.0) / kBytesPerSecond;
}

std::vector<Offer> offers_of(const Request& request, const Weighted& weighted) {
  Implementation chosen = weighted.implementation_for({.scales = weighted.scales});
  const std::vector<PostOperation> operations = post_operations(request);
  const bool adds = std::any_of(operations.begin(), operations.end(), [](const auto& one) { return one.adds; });
  bool fused = false;
  if (!operations.empty() && (weighted.fuses_additions || !adds)) {
    try {
      Implementation with_fused = weighted.implementation_for({weighted.scales, operations, chosen.destination});
      fused = with_fused.destination == chosen.destination && (chosen.plain_loops() || !with_fused.plain_loops());
      if (fused) chosen = std::move(with_fused);
    } catch (const dnnl::error&) {  // no implementation does that: the nodes follow one by one
      fused = false;
    }
  }
  const Shape result = request.output_shape();
  const auto from = weighted.layout_of(request.inputs[0].shape, chosen.source);
  const auto to = weighted.layout_of(result, chosen.destination);
  if (!from || !to) return {{.why_not = "oneDNN's layouts of the operands are not among the program's"}};

  Primitive& primitive = chosen.primitive;
  primitive.inputs = {{DNNL_ARG_SRC, chosen.source}};
  primitive.constants = {{DNNL_ARG_WEIGHTS, chosen.weights}};
  if (!weighted.bias.empty()) primitive.constants.emplace_back(DNNL_ARG_BIAS, bias_desc(weighted.bias));
  for (std::size_t i = 0; fused && i < operations.size(); ++i)
    if (operations[i].adds)
      primitive.inputs.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                                    chosen.destination);
  primitive.output = {DNNL_ARG_DST, chosen.destination};

  Offer offer = offer_of(primitive);
  offer.inputs.assign(primitive.inputs.size(), *to);
  offer.inputs.front() = *from;
  offer.output = *to;
  offer.fused = fused;
  offer.constants.push_back(constant_of(kWeights, weighted.plain_weights, chosen.weights, weighted.dense_weights));
  if (!weighted.bias.empty())
    offer.constants.push_back(constant_of(weighted.scales.empty() ? kBias : kScaledBias, bias_desc(weighted.bias),
                                          bias_desc(weighted.bias), [bias = weighted.bias, scales = weighted.scales] {
                                            std::vector<float> made(bias.begin(), bias.end());
                                            for (std::size_t i = 0; i < scales.size(); ++i) made[i] /= scales[i];
                                            return made;
                                          }));
  const double outputs = static_cast<double>(elements(result).value());
  const double efficiency = chosen.plain_loops() ? 0.01 : weighted.efficiency;
  offer.seconds =
      program::arithmetic_seconds(outputs * weighted.cols, efficiency, request.threads) + weighted.seconds_of_weights;
  return program::only(std::move(offer));
}

std::vector<Offer> convolution_of(const Request& request, const Convolution& convolution, Operands operands) {
  const Dims source = dims_of(request.inputs[0].shape);
  const Window& window = convolution.window;
  const Extent groups = convolution.groups;
  const bool depthwise = groups > 1 && source[1] == groups;
  const ConvolutionShape shape{image_extents(request.inputs[0].shape), image_extents(request.output_shape()),
                               convolution.groups, window};
  Dims weights{Extent{convolution.weights.rows()} / groups, source[1] / groups, window.kernel[0], window.kernel[1]};
  if (groups > 1) weights.insert(weights.begin(), groups);
  // Direct sums only: Winograd's transforms are faster and round more than the bound of a sum allows.
  const dnnl::convolution_forward::desc desc(
      prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any_desc(source, operands.source),
      any_desc(weights, operands.weights), bias_desc(convolution.bias),
      any_desc(dims_of(request.output_shape()), operands.result), dims_of(window.stride), dims_of(window.dilation, 1),
      dims_of(window.pad_begin), dims_of(window.pad_end));
  const auto implementation_for = [&](const Attributes& attributes) {
    return implementation_of<dnnl::convolution_forward>(desc, attributes);
  };
  // In depthwise convolutions in int8, oneDNN 2.6 adds wrong values to channels that do not fill a register.
  constexpr Extent kRegister = 16;
  const bool fills_registers = !depthwise || operands.scales.empty() || groups % kRegister == 0;
  return offers_of(
      request, {convolution.weights.cols(), convolution.bias, operands.speed * efficiency_of(convolution, shape),
                seconds_of_weights(convolution) / operands.speed, plain_desc(weights), implementation_for, layout_of,
                [dense = operands.dense_weights, rows = convolution.weights.rows()] { return dense(0, rows); },
                std::move(operands.scales), fills_registers});
}

/// The offer for the results from `begin` on.
Offer linear_piece(const Request& request, const Linear& linear, const Operands& operands, Index begin, Index end) {
  const Dims source = dims_of_rows(request.inputs[0].shape);
  const Dims weights{Extent{end} - begin, linear.weights.cols()};
  const auto of_piece = [&](const std::vector<float>& all) {
    return all.empty() ? std::span<const float>() : std::span(all).subspan(begin, end - begin);
  };
  const std::span<const float> bias = of_piece(linear.bias);
  const std::span<const float> scales = of_piece(operands.scales);
  const dnnl::inner_product_forward::desc desc(prop_kind::forward_inference, plain_desc(source, operands.source),
                                               any_desc(weights, operands.weights), bias_desc(bias),
                                               plain_desc({source[0], weights[0]}, operands.result));
  const auto implementation_for = [&](const Attributes& attributes) {
    return implementation_of<dnnl::inner_product_forward>(desc, attributes);
  };
  const auto as_rows = [](const Shape&, const Desc& form) {
    return std::optional(Layout{program::Order::rows, element_type_of(form)});
  };
  std::vector<Offer> offers =
      offers_of(request, {linear.weights.cols(),
                          bias,
                          operands.speed * program::kDenseEfficiency,
                          0,
                          plain_desc(weights),
                          implementation_for,
                          as_rows,
                          [dense = operands.dense_weights, begin, end] { return dense(begin, end); },
                          {scales.begin(), scales.end()}});
  return std::move(offers.front());
}

/// Whether a node takes one thread less time than it takes several to meet.
bool is_for_one_thread(const Linear& linear) {
  constexpr double kWeights = 150'000;  // read within 20 us
  return static_cast<double>(linear.weights.rows()) * linear.weights.cols() < kWeights;
}

/// The results of one row are computed in pieces, by a thread each, where there are enough: oneDNN's own teams would
/// share the sums of large rows, whose bits then depend on the number of threads.
std::vector<Offer> linear_of(const Request& request, const Linear& linear, const Operands& operands) {
  const Index results = linear.weights.rows();
  const auto ranges = pieces_of(results, request.threads);
  const bool one_row = dims_of_rows(request.inputs[0].shape)[0] == 1;
  if (one_row && (ranges.size() > 1 || is_for_one_thread(linear))) {
    const program::Threads one(1);
    Request of_pieces = request;
    of_pieces.threads = static_cast<int>(ranges.size());
    std::vector<Piece> pieces;
    for (const auto& [begin, end] : ranges) {
      Offer offer = linear_piece(of_pieces, linear, operands, begin, end);
      pieces.push_back({std::move(offer), begin * dnnl::memory::data_type_size(operands.result)});
    }
    if (std::optional<Offer> offer = side_by_side(std::move(pieces))) return program::only(std::move(*offer));
  }
  return program::only(linear_piece(request, linear, operands, 0, results));
}

/// offers_for(operands) of a node whose input is quantised.
template <class Operation, class OffersFor>
std::vector<Offer> offers_in_bytes(const Request& request, const Operation& operation, const OffersFor& offers_for) {
  auto found = in_bytes(request, operation.weights, operation.bias);
  if (auto* const why_not = std::get_if<std::string>(&found)) return {{.why_not = std::move(*why_not)}};
  auto* const operands = std::get_if<Operands>(&found);
  return operands == nullptr ? std::vector<Offer>() : offers_for(std::move(*operands));
}

}  // namespace

std::vector<Offer> convolution(const Request& request, const Convolution& convolution) {
  return convolution_of(request, convolution, in_type(request.type, convolution.weights));
}

std::vector<Offer> convolution_int8(const Request& request, const Convolution& convolution) {
  return offers_in_bytes(request, convolution,
                         [&](Operands operands) { return convolution_of(request, convolution, std::move(operands)); });
}

std::vector<Offer> linear(const Request& request, const Linear& linear) {
  return linear_of(request, linear, in_type(request.type, linear.weights));
}

std::vector<Offer> linear_int8(const Request& request, const Linear& linear) {
  return offers_in_bytes(request, linear,
                         [&](const Operands& operands) { return linear_of(request, linear, operands); });
}

}  // namespace spdnn::onednn
