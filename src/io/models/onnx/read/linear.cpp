// Gemm and MatMul: products with a constant matrix, which is linear, or of two values.

#include <fmt/format.h>

#include "io/models/onnx/read/operators.hpp"
#include "io/models/onnx/read/reshaping.hpp"

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
ValueId multiplied_by(NodeReader& node, ValueId value, float factor) {
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

/// C, which is_bias(), as one number per output.
std::vector<float> linear_bias(NodeReader& node, Extent outputs) {
  const std::span<const float> numbers = node.floats(2);
  node.graph().budget().take(static_cast<std::size_t>(outputs) * sizeof(float));
  if (numbers.size() == 1) return std::vector<float>(static_cast<std::size_t>(outputs), numbers[0]);
  return {numbers.begin(), numbers.end()};
}

/// The product of two values, either of which may be a vector: a row, or a column.
ValueId product_of_values(NodeReader& node) {
  const Shape a = node.shape(0);
  const Shape b = node.shape(1);
  if (a.empty() || b.empty()) node.fail(fmt::format("{} and {} are no matrices", shape_text(a), shape_text(b)));
  const ValueId left = a.size() == 1 ? reshaped(node, node.value(0), {1, a[0]}) : node.value(0);
  const ValueId right = b.size() == 1 ? reshaped(node, node.value(1), {b[0], 1}) : node.value(1);
  const ValueId product = node.add(MatMul{}, {left, right});
  Shape shape = node.graph().shape(product);
  if (b.size() == 1) shape.pop_back();
  if (a.size() == 1) shape.erase(shape.end() - (b.size() == 1 ? 1 : 2));
  return reshaped(node, product, shape);
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

  ValueId result = node.value(0);
  if (flipped) {
    if (node.shape(0)[0] == kBatchExtent)
      node.fail_attribute("transA", "1 moves the batch axis, which must stay axis 0; give the batch a fixed size");
    result = node.add(Transpose{{1, 0}}, {result});
  }
  const bool added = node.has_input(2) && beta != 0;
  if (!node.is_constant(1)) {
    result = node.add(MatMul{transposed}, {result, node.value(1)});
  } else {
    Linear linear{linear_weights(node, transposed), {}};
    const Extent outputs = linear.weights.rows();
    const Constant* bias = added ? node.constant_or_null(2) : nullptr;
    if (bias != nullptr && alpha == 1 && beta == 1 && is_bias(node.shape(2), outputs)) {
      linear.bias = linear_bias(node, outputs);
      return node.set_output(std::move(linear), {result});
    }
    result = node.add(std::move(linear), {result});
  }
  result = multiplied_by(node, result, alpha);
  if (added) {
    const ValueId addend = multiplied_by(node, node.value(2), beta);
    const Shape product = node.graph().shape(result);
    result = node.add(Elementwise{Elementwise::Kind::add}, {result, addend});
    if (node.graph().shape(result) != product)
      node.fail_input(2, fmt::format("{} cannot be added to {}", shape_text(node.shape(2)), shape_text(product)));
  }
  node.set_output(result);
}

void read_matmul(NodeReader& node) {
  const bool weights = node.is_constant(1) && node.weights_shape(1).size() == 2;
  if (!weights || node.shape(0).size() < 2) return node.set_output(product_of_values(node));
  node.set_output(Linear{linear_weights(node, false), {}}, {node.value(0)});
}

}  // namespace spdnn::onnx_reader
