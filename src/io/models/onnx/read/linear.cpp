// Gemm and MatMul: products with a constant matrix.

#include <fmt/format.h>

#include "io/models/onnx/read/operators.hpp"

namespace spdnn::onnx_reader {

namespace {

/// Input 1 as Linear's matrix, outputs x inputs; `transposed` if the file has it in that form.
Weights linear_weights(NodeReader& node, bool transposed) {
  const Shape shape = node.weights_shape(1);
  if (shape.size() != 2) node.fail_input(1, fmt::format("its shape is {}; expected a matrix", shape_text(shape)));
  const auto outputs = static_cast<Offset>(shape[transposed ? 0 : 1]);
  const auto inputs = static_cast<Offset>(shape[transposed ? 1 : 0]);
  if (outputs > kMaxIndex || inputs > kMaxIndex)
    node.fail_input(1, fmt::format("weights of shape {}: an axis is longer than 2^31-1", shape_text(shape)));
  return node.weights(1, outputs, inputs, !transposed);
}

bool read_flag(NodeReader& node, const std::string& name) { return node.integer(name, 0) != 0; }

/// Multiplies by one number in a separate operation, since scaled weights would be rounded.
ValueId scaled(NodeReader& node, ValueId value, float factor) {
  if (factor == 1) return value;
  const Constant constant{{}, Array<float>(std::vector<float>{factor})};
  return node.add(Elementwise{Elementwise::Kind::multiply}, {value, node.add_constant(constant)});
}

/// Whether C has one number per output, which Linear adds, or one for all.
bool is_bias(const Shape& shape, Extent outputs) {
  if (shape.size() > 2 || (shape.size() == 2 && shape[0] != 1)) return false;
  const Extent last = shape.empty() ? 1 : shape.back();
  return last == 1 || last == outputs;
}

}  // namespace

void read_gemm(NodeReader& node) {
  const float alpha = node.real("alpha", 1);
  const float beta = node.real("beta", 1);
  const bool flipped = read_flag(node, "transA");
  const bool transposed = read_flag(node, "transB");
  if (node.opset() < 7) node.ignore("broadcast");  // C is either as large as the result, or broadcast as in later sets
  if (node.shape(0).size() != 2)
    node.fail_input(0, fmt::format("its shape is {}; expected two axes", shape_text(node.shape(0))));
  if (node.opset() < 11 && !node.has_input(2)) node.fail("input 3 is missing");

  Linear linear{linear_weights(node, transposed), {}};
  const Extent outputs = linear.weights.rows();
  ValueId result = node.value(0);
  if (flipped) {
    if (node.shape(0)[0] == kBatchExtent)
      node.fail_attribute("transA", "1 moves the batch axis, which must stay axis 0; give the batch a fixed size");
    result = node.add(Transpose{{1, 0}}, {result});
  }
  const bool added = node.has_input(2) && beta != 0;
  const Constant* bias = added ? node.constant_or_null(2) : nullptr;
  if (bias != nullptr && alpha == 1 && beta == 1 && is_bias(node.shape(2), outputs)) {
    const std::span<const float> numbers = node.floats(2);
    node.graph().budget().take(static_cast<std::size_t>(outputs) * sizeof(float));
    if (numbers.size() == 1) {
      linear.bias.assign(static_cast<std::size_t>(outputs), numbers[0]);
    } else {
      linear.bias.assign(numbers.begin(), numbers.end());
    }
    return node.set_output(std::move(linear), {result});
  }
  result = scaled(node, node.add(std::move(linear), {result}), alpha);
  if (added) {
    const ValueId addend = scaled(node, node.value(2), beta);
    const Shape product = node.graph().shape(result);
    result = node.add(Elementwise{Elementwise::Kind::add}, {result, addend});
    if (node.graph().shape(result) != product)
      node.fail_input(2, fmt::format("{} cannot be added to {}", shape_text(node.shape(2)), shape_text(product)));
  }
  node.set_output(result);
}

void read_matmul(NodeReader& node) {
  if (node.shape(0).size() < 2)
    node.fail_input(0, fmt::format("its shape is {}; expected two or more axes", shape_text(node.shape(0))));
  node.set_output(Linear{linear_weights(node, false), {}}, {node.value(0)});
}

}  // namespace spdnn::onnx_reader
