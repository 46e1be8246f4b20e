// Convolutions and linear nodes: nodes with weights, and the nodes that are fused with them.

#include <algorithm>

#include "engines/cpu/conv/onednn/compiler.hpp"
#include "engines/cpu/conv/sparse_linear.hpp"

namespace spdnn::onednn {

namespace {

using dnnl::prop_kind;

enum Part { kWeights, kBias };

Desc any(const Dims& dims, dnnl::memory::data_type type) { return {dims, type, dnnl::memory::format_tag::any}; }

Desc bias_desc(const std::vector<float>& bias) {
  return bias.empty() ? Desc() : plain_desc({static_cast<dnnl::memory::dim>(bias.size())});
}

/// A value of any shape as a matrix whose columns are its last axis.
Dims as_rows(const Shape& shape) {
  const Extent columns = shape.empty() ? 1 : shape.back();
  Extent rows = 1;
  for (std::size_t axis = 0; axis + 1 < shape.size(); ++axis) rows *= shape[axis];
  return {rows, columns};
}

template <class Forward>
Kernel kernel_of(const typename Forward::primitive_desc& desc) {
  return {desc.src_desc(),        desc.weights_desc(),  desc.dst_desc(),
          desc.scratchpad_desc(), desc.impl_info_str(), [desc] { return Forward(desc); }};
}

template <class Operations>
dnnl::post_ops as_post_ops(const Operations& operations, const Desc& destination) {
  dnnl::post_ops made;
  for (const auto& [function, added] : operations) {
    if (added)
      made.append_binary(dnnl::algorithm::binary_add, destination);
    else
      made.append_eltwise(1.F, function.algorithm, function.alpha, function.beta);
  }
  return made;
}

}  // namespace

void Compiler::run(const Node& node, const Convolution& convolution) {
  const Dims source = dims(node.inputs[0]);
  const Dims destination = dims(node.output);
  const Window& window = convolution.window;
  const Extent groups = convolution.groups;
  Dims weights{Extent{convolution.weights.rows} / groups, source[1] / groups, window.kernel[0], window.kernel[1]};
  if (groups > 1) weights.insert(weights.begin(), groups);
  // Direct sums only: Winograd's transforms are faster and round more than the bound of a sum allows.
  const dnnl::convolution_forward::desc desc(
      prop_kind::forward_inference, dnnl::algorithm::convolution_direct, any(source, type_), any(weights, type_),
      bias_desc(convolution.bias), any(destination, type_), dims_of(window.stride), dims_of(window.dilation, 1),
      dims_of(window.pad_begin), dims_of(window.pad_end));
  run_weighted(
      node, convolution.weights, convolution.bias, plain_desc(weights),
      [&](const dnnl::primitive_attr& attributes) {
        return kernel_of<dnnl::convolution_forward>({desc, attributes, engine_});
      },
      false);
}

void Compiler::run(const Node& node, const Linear& linear) {
  const Dims source = as_rows(shape(node.inputs[0]));
  if (sparse_for_ > 0 && sparse_linear_pays(linear.weights, source[0] / images_ * sparse_for_))
    return run_sparse(node, linear, source[0]);
  const Dims weights{linear.weights.rows, linear.weights.cols};
  const dnnl::inner_product_forward::desc desc(prop_kind::forward_inference, plain_desc(source, type_),
                                               any(weights, type_), bias_desc(linear.bias),
                                               plain_desc({source[0], weights[0]}, type_));
  run_weighted(
      node, linear.weights, linear.bias, plain_desc(weights),
      [&](const dnnl::primitive_attr& attributes) {
        return kernel_of<dnnl::inner_product_forward>({desc, attributes, engine_});
      },
      true);
}

/// What is fused with it follows node by node.
void Compiler::run_sparse(const Node& node, const Linear& linear, Extent rows) {
  std::vector<std::pair<int, Operand>> arguments{{0, plain(node.inputs[0])}};
  const auto scratch = static_cast<Extent>(sparse_linear_scratch(linear.weights, rows));
  arguments.emplace_back(0, new_operand(plain_desc({std::max<Extent>(scratch, 1)})));
  const Operand output = new_operand(plain_desc(dims(node.output)));
  arguments.emplace_back(0, output);
  act({.loop = [&linear, rows](auto data) { multiply_sparse(linear, rows, data[0], data[1], data[2]); },
       .arguments = std::move(arguments)});
  made(node.output, output);
}

void Compiler::run_weighted(const Node& node, const CsrMatrix& weights, const std::vector<float>& bias,
                            const Desc& plain_weights, const KernelFor& kernel_for, bool rows) {
  dnnl::primitive_attr attributes = with_user_scratchpad();
  Kernel kernel = kernel_for(attributes);
  const std::vector<PostOperation> operations = post_operations(node.output);
  if (!to_fuse_.empty()) {
    const Desc destination = kernel.destination;
    attributes.set_post_ops(as_post_ops(operations, destination));
    try {
      Kernel with_fused = kernel_for(attributes);
      fused_ = with_fused.destination == destination && (kernel.plain_loops() || !with_fused.plain_loops());
      if (fused_) kernel = std::move(with_fused);
    } catch (const dnnl::error&) {  // no kernel does that: the nodes follow one by one
      fused_ = false;
    }
  }

  const Index number = step_->node;
  std::vector<std::pair<int, Operand>> arguments{{DNNL_ARG_SRC, seen(node.inputs[0], kernel.source, rows)}};
  arguments.emplace_back(DNNL_ARG_WEIGHTS, constant({number, kWeights}, plain_weights, kernel.weights,
                                                    [&weights] { return dense_rows(weights, 0, weights.rows); }));
  if (!bias.empty())
    arguments.emplace_back(DNNL_ARG_BIAS,
                           constant({number, kBias}, bias_desc(bias), bias_desc(bias), [&bias] { return bias; }));
  for (std::size_t i = 0; fused_ && i < operations.size(); ++i)
    if (operations[i].added)
      arguments.emplace_back(DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                             seen(*operations[i].added, kernel.destination, rows));
  const ValueId result = fused_ ? model_.nodes[to_fuse_.back()].output : node.output;
  const Operand destination = new_operand(kernel.destination);
  arguments.emplace_back(DNNL_ARG_DST, destination);
  act(kernel.make, std::move(arguments), kernel.scratchpad);
  made(result, rows ? Operand{destination.buffer, plain_desc(dims(result), type_)} : destination);
}

std::vector<Compiler::PostOperation> Compiler::post_operations(ValueId result) const {
  std::vector<PostOperation> operations;
  for (const Index number : to_fuse_) {
    const Node& node = model_.nodes[number];
    const auto line = line_of(model_, node);
    if (const auto* const activation = std::get_if<Activation>(&node.operation)) {
      operations.push_back({.function = function_of(*activation)});
    } else if (!line) {
      operations.push_back({.added = other_input(node, result)});
    } else if (!operations.empty() && operations.back().function.algorithm == dnnl::algorithm::eltwise_linear) {
      operations.back().function.beta += line->offset;  // a sum after a product
    } else {
      operations.push_back({.function = {dnnl::algorithm::eltwise_linear, line->slope, line->offset}});
    }
    result = node.output;
  }
  return operations;
}

Operand Compiler::seen(ValueId value, const Desc& form, bool rows) {
  if (!rows) return in_form(value, form);
  return {in_form(value, plain_desc(dims(value), type_)).buffer, form};
}

}  // namespace spdnn::onednn
