// Operations without weights, where oneDNN has exactly the same function. They take their first input in the layout in
// which it was made, but bytes as fp32.

#include <algorithm>

#include "engines/cpu/onednn/primitive.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::onednn {

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;
using program::Layout;
using program::Offer;
using program::Request;

Layout as_made(const Request& request, std::size_t input = 0) {
  Layout layout = request.inputs[input].layouts.front();
  if (is_bytes(layout.type)) layout.type = program::ElementType::fp32;
  return layout;
}
Desc desc_as_made(const Request& request, std::size_t input = 0) {
  return desc_of(request.inputs[input].shape, as_made(request, input));
}

/// The one offer of a primitive that reads inputs in these layouts, unless no Layout describes its output.
std::vector<Offer> offer(const Request& request, const Primitive& primitive, const std::vector<Layout>& inputs) {
  const auto output = layout_of(request.output_shape(), primitive.output.second);
  if (!output) return {{.why_not = "oneDNN's layout of the output is not one of the program's"}};
  Offer made = offer_of(primitive);
  made.inputs = inputs;
  made.output = *output;
  made.seconds = pass_seconds(primitive, request.threads);
  return program::only(std::move(made));
}

/// The offer of a primitive with one input and one output.
template <class Forward>
std::vector<Offer> offer_of_one(const Request& request, const typename Forward::desc& of, const Desc& source,
                                const Layout& layout) {
  Primitive primitive([of] { return found<Forward>(of); });
  primitive.inputs = {{DNNL_ARG_SRC, source}};
  primitive.output = primitive.argument(DNNL_ARG_DST);
  return offer(request, primitive, {layout});
}

algorithm algorithm_of(Elementwise::Kind kind) {
  switch (kind) {
    case Elementwise::Kind::add:
      return algorithm::binary_add;
    case Elementwise::Kind::subtract:
      return algorithm::binary_sub;
    case Elementwise::Kind::multiply:
      return algorithm::binary_mul;
    case Elementwise::Kind::divide:
      return algorithm::binary_div;
    case Elementwise::Kind::maximum:
      return algorithm::binary_max;
    case Elementwise::Kind::minimum:
      return algorithm::binary_min;
    case Elementwise::Kind::power:
      break;
  }
  return algorithm::undef;
}

bool copies_whole_numbers(const Resize& resize, const Dims& source, const Dims& destination) {
  if (resize.kind != Resize::Kind::nearest || source.size() != 4) return false;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Extent input = source[axis + 2];
    const Extent output = destination[axis + 2];
    if (output % input != 0) return false;
    for (Extent i = 0; i < output; ++i)
      if (nearest_element(resize, axis, input, i) != i / (output / input)) return false;
  }
  return true;
}

/// An axis as oneDNN counts it, where a sequence has H = 1.
int axis_of(Index axis, std::size_t rank) { return static_cast<int>(axis) + (rank == 3 && axis == 2 ? 1 : 0); }

constexpr double kPassesOfSimpleLoops = 8;

std::vector<Offer> pool_of(const Request& request, Pool::Kind kind, const Window& window, bool count_padding) {
  using Forward = dnnl::pooling_v2_forward;
  const Dims to = dims_of(request.output_shape());
  if (to.size() != 4) return {{.why_not = "oneDNN pools only images and sequences"}};
  const Desc source = desc_as_made(request);
  const algorithm mean =
      count_padding ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  try {
    const Forward::desc of(prop_kind::forward_inference, kind == Pool::Kind::max ? algorithm::pooling_max : mean,
                           source, any_desc(to, source.data_type()), dims_of(window.stride), dims_of(window.kernel),
                           dims_of(window.dilation, 1), dims_of(window.pad_begin), dims_of(window.pad_end));
    std::vector<Offer> all = offer_of_one<Forward>(request, of, source, as_made(request));
    // Its loops over row-major images go window by window, and take as long as many passes.
    for (Offer& one : all)
      if (one.detail.find("simple") != std::string::npos) one.seconds *= kPassesOfSimpleLoops;
    return all;
  } catch (const dnnl::error&) {
    return {{.why_not = "oneDNN does not support such windows"}};
  }
}

}  // namespace

EltwiseFunction function_of(const Activation& activation) {
  switch (activation.kind) {
    case Activation::Kind::relu:
      return {algorithm::eltwise_relu};
    case Activation::Kind::clip:
      return {algorithm::eltwise_clip, activation.low, activation.high};
    case Activation::Kind::leaky_relu:
      return {algorithm::eltwise_relu, activation.alpha};
    case Activation::Kind::hard_swish:
      return {algorithm::eltwise_hardswish};
    case Activation::Kind::sigmoid:
      return {algorithm::eltwise_logistic};
    case Activation::Kind::tanh:
      return {algorithm::eltwise_tanh};
    default:
      return {};
  }
}

std::vector<Offer> batch_norm(const Request& request, const BatchNorm& norm) {
  using Forward = dnnl::batch_normalization_forward;
  const Dims to = dims_of(request.output_shape());
  if (to.size() != 4) return {{.why_not = "oneDNN normalises only images and sequences"}};
  const Desc source = desc_as_made(request);
  const Forward::desc of(prop_kind::forward_inference, source, norm.epsilon,
                         dnnl::normalization_flags::use_global_stats | dnnl::normalization_flags::use_scale |
                             dnnl::normalization_flags::use_shift);
  Primitive primitive([of] { return found<Forward>(of); });
  const Desc by_channel = plain_desc({to[1]});
  std::vector<program::Constant> constants;
  for (const auto& [argument, values] :
       {std::pair{DNNL_ARG_MEAN, &norm.mean}, std::pair{DNNL_ARG_VARIANCE, &norm.variance},
        std::pair{DNNL_ARG_SCALE, &norm.scale}, std::pair{DNNL_ARG_SHIFT, &norm.shift}}) {
    primitive.constants.emplace_back(argument, by_channel);
    constants.push_back(
        constant_of(static_cast<int>(constants.size()), by_channel, by_channel, [values = values] { return *values; }));
  }
  primitive.inputs = {{DNNL_ARG_SRC, source}};
  primitive.output = primitive.argument(DNNL_ARG_DST);
  std::vector<Offer> offers = offer(request, primitive, {as_made(request)});
  offers.front().constants = std::move(constants);
  return offers;
}

std::vector<Offer> global_pool(const Request& request, const GlobalPool& pool) {
  const Dims source = dims_of(request.inputs[0].shape);
  Window window;
  if (source.size() == 4) window.kernel = {static_cast<Index>(source[2]), static_cast<Index>(source[3])};
  return pool_of(request, pool.kind, window, false);
}

std::vector<Offer> pool(const Request& request, const Pool& pool) {
  const Dims source = dims_of(request.inputs[0].shape);
  Window window = pool.window;
  const Dims destination = dims_of(request.output_shape());
  bool beyond = false;  // windows that rounding up adds end outside of the padding
  for (std::size_t axis = 0; axis < 2 && source.size() == 4; ++axis) {
    const Extent end = tap_position(window, axis, destination[axis + 2] - 1, Extent{window.kernel[axis]} - 1) + 1;
    const Extent outside = std::max<Extent>(end - source[axis + 2], 0);
    beyond = beyond || outside > Extent{window.pad_end[axis]};
    window.pad_end[axis] = static_cast<Index>(outside);
  }
  const bool counts_more = pool.kind == Pool::Kind::average && pool.count_padding && beyond;
  if (counts_more) return {{.why_not = "oneDNN would count the elements added by rounding up"}};
  return pool_of(request, pool.kind, window, pool.count_padding);
}

std::vector<Offer> eltwise(const Request& request, const Activation& activation) {
  using Forward = dnnl::eltwise_forward;
  const EltwiseFunction function = function_of(activation);
  if (function.algorithm == algorithm::undef) return {{.why_not = "oneDNN has no such function"}};
  const Desc source = desc_as_made(request);
  const Forward::desc of(prop_kind::forward_inference, function.algorithm, source, function.alpha, function.beta);
  return offer_of_one<Forward>(request, of, source, as_made(request));
}

/// Offers for two values of one shape, or for a value and one number.
std::vector<Offer> binary(const Request& request, const Elementwise& both) {
  using Forward = dnnl::binary;
  const Dims to = dims_of(request.output_shape());
  const bool one_number = elements(request.inputs[1].shape) == 1;
  if (dims_of(request.inputs[0].shape) != to || (dims_of(request.inputs[1].shape) != to && !one_number))
    return {{.why_not = "oneDNN combines only values of one shape here"}};
  if (algorithm_of(both.kind) == algorithm::undef) return {{.why_not = "oneDNN has no such function"}};
  const Layout layout = as_made(request);
  const Desc first = desc_as_made(request);
  const Desc second = one_number ? plain_desc(Dims(to.size(), 1)) : desc_of(request.inputs[1].shape, layout);
  const Forward::desc of(algorithm_of(both.kind), first, second, first);
  Primitive primitive([of] { return found<Forward>(of); });
  primitive.inputs = {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}};
  primitive.output = primitive.argument(DNNL_ARG_DST);
  return offer(request, primitive, {layout, one_number ? program::kRows : layout});
}

std::vector<Offer> concat(const Request& request, const Concat& concat) {
  const int axis = axis_of(concat.axis, request.output_shape().size());
  const auto joined = [&](bool as_they_are) {
    std::vector<Layout> layouts;
    std::vector<Desc> forms;
    std::vector<Primitive::Argument> inputs;
    for (std::size_t i = 0; i < request.inputs.size(); ++i) {
      layouts.push_back(as_they_are ? as_made(request, i) : Layout{program::Order::rows, request.type});
      forms.push_back(desc_of(request.inputs[i].shape, layouts.back()));
      inputs.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(i), forms.back());
    }
    Primitive primitive(
        [axis, forms] { return dnnl::concat::primitive_desc(axis, forms, cpu(), with_user_scratchpad()); });
    primitive.inputs = inputs;
    primitive.output = primitive.argument(DNNL_ARG_DST);
    return offer(request, primitive, layouts);
  };
  try {
    return joined(true);
  } catch (const dnnl::error&) {  // blocks of channels that do not end where an input ends
    return joined(false);
  }
}

std::vector<Offer> softmax(const Request& request, const Softmax& softmax) {
  using Forward = dnnl::softmax_forward;
  const Desc source = desc_of(request.inputs[0].shape, program::kRows);
  const int axis = axis_of(softmax.axis, request.output_shape().size());
  const Forward::desc of(prop_kind::forward_inference, source, axis);
  return offer_of_one<Forward>(request, of, source, program::kRows);
}

std::vector<Offer> resize(const Request& request, const Resize& resize) {
  using Forward = dnnl::resampling_forward;
  const Dims to = dims_of(request.output_shape());
  if (!copies_whole_numbers(resize, dims_of(request.inputs[0].shape), to))
    return {{.why_not = "oneDNN rounds positions differently"}};
  const Desc source = desc_as_made(request);
  const Forward::desc of(prop_kind::forward_inference, algorithm::resampling_nearest, source,
                         any_desc(to, source.data_type()));
  return offer_of_one<Forward>(request, of, source, as_made(request));
}

}  // namespace spdnn::onednn
