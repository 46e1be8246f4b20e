// Operations without weights: by oneDNN where it has exactly the same function, otherwise by loops of our own.

#include <algorithm>

#include "engines/cpu/conv/onednn/compiler.hpp"
#include "engines/cpu/conv/onednn/loops.hpp"
#include "model/operations/geometry.hpp"

namespace spdnn::onednn {

namespace {

using dnnl::algorithm;
using dnnl::prop_kind;

algorithm algorithm_of(Elementwise::Kind kind) {
  switch (kind) {
    case Elementwise::Kind::add:
      return algorithm::binary_add;
    case Elementwise::Kind::subtract:
      return algorithm::binary_sub;
    case Elementwise::Kind::multiply:
      return algorithm::binary_mul;
    default:
      return algorithm::binary_div;
  }
}

/// How many channels lie side by side in a form: 16 or 8 where channels are blocked, 1 where they are not; 0 for
/// others.
Extent channels_together(const Desc& desc) {
  const Dims dims = desc.dims();
  if (dims.size() != 4) return 0;
  if (desc == Desc(dims, desc.data_type(), dnnl::memory::format_tag::nhwc)) return dims[1];
  if (desc == Desc(dims, desc.data_type(), dnnl::memory::format_tag::nChw16c)) return 16;
  if (desc == Desc(dims, desc.data_type(), dnnl::memory::format_tag::nChw8c)) return 8;
  if (desc == plain_desc(dims, desc.data_type())) return 1;
  return 0;
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

void Compiler::run(const Node& node, const BatchNorm& norm) {
  if (dims(node.output).size() != 4) {
    const Shape of_input = shape(node.inputs[0]);
    loop(node, [&norm, of_input](auto data) { loops::batch_norm(norm, of_input, data[0], data[1]); });
    return;
  }
  using Forward = dnnl::batch_normalization_forward;
  const Operand source = as_made(node.inputs[0]);
  const Forward::desc of(prop_kind::forward_inference, source.desc, norm.epsilon,
                         dnnl::normalization_flags::use_global_stats | dnnl::normalization_flags::use_scale |
                             dnnl::normalization_flags::use_shift);
  const Forward::primitive_desc desc(of, with_user_scratchpad(), engine_);
  std::vector<std::pair<int, Operand>> arguments{{DNNL_ARG_SRC, source}};
  const Desc by_channel = plain_desc({dims(node.output)[1]});
  int part = 0;
  for (const auto& [argument, values] :
       {std::pair{DNNL_ARG_MEAN, &norm.mean}, std::pair{DNNL_ARG_VARIANCE, &norm.variance},
        std::pair{DNNL_ARG_SCALE, &norm.scale}, std::pair{DNNL_ARG_SHIFT, &norm.shift}})
    arguments.emplace_back(
        argument, constant({step_->node, part++}, by_channel, by_channel, [values = values] { return *values; }));
  const Operand destination = new_operand(desc.dst_desc());
  arguments.emplace_back(DNNL_ARG_DST, destination);
  act([desc] { return Forward(desc); }, std::move(arguments), desc.scratchpad_desc());
  made(node.output, destination);
}

void Compiler::run(const Node& node, const Pool& pool) {
  Window window = pool.window;
  const Dims source = dims(node.inputs[0]);
  const Dims destination = dims(node.output);
  bool beyond = false;  // windows that rounding up adds end outside of the padding
  for (std::size_t axis = 0; axis < 2 && source.size() == 4; ++axis) {
    const Extent end = tap_position(window, axis, destination[axis + 2] - 1, Extent{window.kernel[axis]} - 1) + 1;
    const Extent outside = std::max<Extent>(end - source[axis + 2], 0);
    beyond = beyond || outside > Extent{window.pad_end[axis]};
    window.pad_end[axis] = static_cast<Index>(outside);
  }
  const bool counts_more = pool.kind == Pool::Kind::average && pool.count_padding && beyond;
  if (!counts_more && pool_by_onednn(node, pool.kind, window, pool.count_padding)) return;
  const Shape from = shape(node.inputs[0]);
  const Shape to = shape(node.output);
  loop(node, [&pool, from, to](auto data) { loops::pool(pool, from, to, data[0], data[1]); });
}

void Compiler::run(const Node& node, const GlobalPool& pool) {
  const Dims source = dims(node.inputs[0]);
  Window window;
  if (source.size() == 4) window.kernel = {static_cast<Index>(source[2]), static_cast<Index>(source[3])};
  if (pool_by_onednn(node, pool.kind, window, false)) return;
  const Shape from = shape(node.inputs[0]);
  loop(node, [&pool, from](auto data) { loops::global_pool(pool, from, data[0], data[1]); });
}

bool Compiler::pool_by_onednn(const Node& node, Pool::Kind kind, const Window& window, bool count_padding) {
  using Forward = dnnl::pooling_v2_forward;
  const Operand source = as_made(node.inputs[0]);
  const Dims to = dims(node.output);
  if (to.size() != 4) return false;
  const algorithm mean =
      count_padding ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  try {
    const Forward::desc of(prop_kind::forward_inference, kind == Pool::Kind::max ? algorithm::pooling_max : mean,
                           source.desc, Desc(to, source.desc.data_type(), dnnl::memory::format_tag::any),
                           dims_of(window.stride), dims_of(window.kernel), dims_of(window.dilation, 1),
                           dims_of(window.pad_begin), dims_of(window.pad_end));
    const Forward::primitive_desc desc(of, with_user_scratchpad(), engine_);
    const Operand destination = new_operand(desc.dst_desc());
    act([desc] { return Forward(desc); }, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}},
        desc.scratchpad_desc());
    made(node.output, destination);
    return true;
  } catch (const dnnl::error&) {  // such windows it does not take
    return false;
  }
}

void Compiler::run(const Node& node, const Activation& activation) {
  using Forward = dnnl::eltwise_forward;
  if (activation.kind == Activation::Kind::identity) return pass_on(node);
  const EltwiseFunction function = function_of(activation);
  if (function.algorithm == algorithm::undef) {
    const Shape of_input = shape(node.inputs[0]);
    loop(node, [&activation, of_input](auto data) { loops::activate(activation, of_input, data[0], data[1]); });
    return;
  }
  const Operand source = as_made(node.inputs[0]);
  const Forward::desc of(prop_kind::forward_inference, function.algorithm, source.desc, function.alpha, function.beta);
  const Forward::primitive_desc desc(of, with_user_scratchpad(), engine_);
  const Operand destination = new_operand(desc.dst_desc());
  act([desc] { return Forward(desc); }, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}, desc.scratchpad_desc());
  made(node.output, destination);
}

void Compiler::run(const Node& node, const Elementwise& both) {
  if (scale_channels(node, both.kind) || elementwise_by_onednn(node, both.kind)) return;
  const std::array<Shape, 3> shapes{shape(node.inputs[0]), shape(node.inputs[1]), shape(node.output)};
  loop(node, [kind = both.kind, shapes](auto data) { loops::elementwise(kind, shapes, data[0], data[1], data[2]); });
}

/// One number for each image and channel, as squeeze-and-excite has it, on images in the form in which they were made.
bool Compiler::scale_channels(const Node& node, Elementwise::Kind kind) {
  const Dims to = dims(node.output);
  const Dims factors = dims(node.inputs[1]);
  if (to.size() != 4 || dims(node.inputs[0]) != to || factors.size() != 4 || factors[1] != to[1]) return false;
  if (factors[2] * factors[3] != 1 || to[2] * to[3] == 1) return false;
  const Operand source = as_made(node.inputs[0]);
  const Extent together = channels_together(source.desc);
  if (together == 0 || source.desc.data_type() != dnnl::memory::data_type::f32) return false;
  const Operand by_channel = plain(node.inputs[1]);
  const Operand destination = new_operand(source.desc);
  const loops::Channels channels{to[0], to[1], to[2] * to[3], together, factors[0] > 1};
  act({.loop = [kind, channels](auto data) { loops::with_channels(kind, channels, data[0], data[1], data[2]); },
       .arguments = {{0, source}, {0, by_channel}, {0, destination}}});
  made(node.output, destination);
  return true;
}

/// Of two values of one shape, or of a value and one number.
bool Compiler::elementwise_by_onednn(const Node& node, Elementwise::Kind kind) {
  using Forward = dnnl::binary;
  const Dims to = dims(node.output);
  const bool one_number = elements(shape(node.inputs[1])) == 1;
  if (dims(node.inputs[0]) != to || (dims(node.inputs[1]) != to && !one_number)) return false;
  const Operand first = as_made(node.inputs[0]);
  const Operand second = one_number ? Operand{plain(node.inputs[1]).buffer, plain_desc(Dims(to.size(), 1))}
                                    : in_form(node.inputs[1], first.desc);
  const Forward::primitive_desc desc({algorithm_of(kind), first.desc, second.desc, first.desc}, with_user_scratchpad(),
                                     engine_);
  const Operand destination = new_operand(desc.dst_desc());
  act([desc] { return Forward(desc); },
      {{DNNL_ARG_SRC_0, first}, {DNNL_ARG_SRC_1, second}, {DNNL_ARG_DST, destination}}, desc.scratchpad_desc());
  made(node.output, destination);
  return true;
}

void Compiler::run(const Node& node, const Concat& concat) {
  const std::size_t rank = model_.values[node.output].shape.size();
  const int axis = static_cast<int>(concat.axis) + (rank == 3 && concat.axis == 2 ? 1 : 0);
  const auto join = [&](bool as_they_are) {
    std::vector<Desc> forms;
    std::vector<std::pair<int, Operand>> arguments;
    for (const ValueId input : node.inputs) {
      const Operand source = as_they_are ? as_made(input) : in_form(input, plain_desc(dims(input), type_));
      arguments.emplace_back(DNNL_ARG_MULTIPLE_SRC + static_cast<int>(forms.size()), source);
      forms.push_back(source.desc);
    }
    const dnnl::concat::primitive_desc desc(axis, forms, engine_, with_user_scratchpad());
    const Operand destination = new_operand(desc.dst_desc());
    arguments.emplace_back(DNNL_ARG_DST, destination);
    act([desc] { return dnnl::concat(desc); }, std::move(arguments), desc.scratchpad_desc());
    made(node.output, destination);
  };
  try {
    join(true);
  } catch (const dnnl::error&) {  // blocks of channels that do not end where an input ends
    join(false);
  }
}

void Compiler::run(const Node& node, const Softmax& softmax) {
  using Forward = dnnl::softmax_forward;
  const Operand source = plain(node.inputs[0]);
  const std::size_t rank = model_.values[node.output].shape.size();
  const int axis = static_cast<int>(softmax.axis) + (rank == 3 && softmax.axis == 2 ? 1 : 0);
  const Forward::desc of(prop_kind::forward_inference, source.desc, axis);
  const Forward::primitive_desc desc(of, with_user_scratchpad(), engine_);
  const Operand destination = new_operand(desc.dst_desc());
  act([desc] { return Forward(desc); }, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}, desc.scratchpad_desc());
  made(node.output, destination);
}

void Compiler::run(const Node& node, const Reshape& /*reshape*/) { pass_on(node); }

/// The same elements in the same order: the output is the input's buffer.
void Compiler::pass_on(const Node& node) {
  const auto type = as_made(node.inputs[0]).desc.data_type();
  const Operand source = in_form(node.inputs[0], plain_desc(dims(node.inputs[0]), type));
  made(node.output, {source.buffer, plain_desc(dims(node.output), type)});
}

void Compiler::run(const Node& node, const Transpose& transpose) {
  const Shape from = shape(node.inputs[0]);
  loop(node, [&transpose, from](auto data) { loops::transpose(transpose, from, data[0], data[1]); });
}

void Compiler::run(const Node& node, const Pad& pad) {
  const Shape from = shape(node.inputs[0]);
  loop(node, [&pad, from](auto data) { loops::pad(pad, from, data[0], data[1]); });
}

void Compiler::run(const Node& node, const Resize& resize) {
  using Forward = dnnl::resampling_forward;
  const Dims to = dims(node.output);
  if (!copies_whole_numbers(resize, dims(node.inputs[0]), to)) {
    const Shape from = shape(node.inputs[0]);
    loop(node, [&resize, from](auto data) { loops::resize(resize, from, data[0], data[1]); });
    return;
  }
  const Operand source = as_made(node.inputs[0]);
  const Forward::desc of(prop_kind::forward_inference, algorithm::resampling_nearest, source.desc,
                         Desc(to, source.desc.data_type(), dnnl::memory::format_tag::any));
  const Forward::primitive_desc desc(of, with_user_scratchpad(), engine_);
  const Operand destination = new_operand(desc.dst_desc());
  act([desc] { return Forward(desc); }, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, destination}}, desc.scratchpad_desc());
  made(node.output, destination);
}

}  // namespace spdnn::onednn
