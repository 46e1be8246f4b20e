// QuantizeLinear and DequantizeLinear: weights of i8 and u8, and quantised values.

#include <cmath>
#include <cstdint>

#include "core/types/row_values.hpp"
#include "io/models/onnx/write/graph.hpp"

namespace spdnn::onnx_writer {

namespace {

/// All numbers of the matrix, as i8 or u8. A value is the scale times the number less the zero point, rounded
/// once, so that its quotient by the scale is within one part in 10^7 of a number of at most 9 bits.
std::vector<std::uint8_t> whole_bytes(const Weights& weights, bool by_columns) {
  const auto& values = weights.typed()->values;
  const std::size_t rows = weights.rows();
  const std::size_t cols = weights.cols();
  std::vector<std::uint8_t> numbers(rows * cols);
  for (Index row = 0; row < rows; ++row) {
    const float scale = scale_of(values, row);
    const std::int32_t zero = zero_point_of(values, row);
    const std::vector<float> dense = dense_rows(weights.csr(), row, row + 1);
    for (std::size_t col = 0; col < cols; ++col)
      numbers[by_columns ? col * rows + row : row * cols + col] =
          static_cast<std::uint8_t>(std::lrint(dense[col] / scale) + zero);
  }
  return numbers;
}

}  // namespace

std::string GraphWriter::add_whole(const std::string& wanted, const Shape& shape, const Weights& weights,
                                   bool by_columns) {
  const auto& values = weights.typed()->values;
  const bool by_rows = values.scales.size() > 1 || values.zero_points.size() > 1;
  const Shape of_lists = by_rows ? Shape{weights.rows()} : Shape{};
  std::vector<float> scales;
  std::vector<std::uint8_t> zeros;
  for (Index row = 0; row < (by_rows ? weights.rows() : 1); ++row) {
    scales.push_back(scale_of(values, row));
    zeros.push_back(static_cast<std::uint8_t>(zero_point_of(values, row)));
  }
  const int type = values.type == DataType::i8 ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8;
  const auto add_bytes = [&](const std::string& name, const Shape& of, const std::vector<std::uint8_t>& bytes) {
    onnx::TensorProto& tensor = add_tensor(name, of, type);
    tensor.set_raw_data(bytes.data(), bytes.size());
    return tensor.name();
  };
  std::vector<std::string> inputs{add_bytes(wanted + ".whole", shape, whole_bytes(weights, by_columns))};
  inputs.push_back(add_floats(wanted + ".scale", of_lists, scales));
  if (!values.zero_points.empty()) inputs.push_back(add_bytes(wanted + ".zero", of_lists, zeros));
  std::string output = new_name(wanted);
  onnx::NodeProto& node = add_node(new_node_name(wanted), "DequantizeLinear", inputs, output);
  if (by_rows) {
    onnx::AttributeProto& axis = *node.add_attribute();
    axis.set_name("axis");
    axis.set_type(onnx::AttributeProto::INT);
    axis.set_i(by_columns ? 1 : 0);
  }
  return output;
}

/// QuantizeLinear takes the type of its zero point, which is therefore written where it is 0, too.
void GraphWriter::add_quantised(const QuantisedValue& value, const std::string& quantise,
                                const std::string& dequantise) {
  const Node& divide = model_.nodes[value.first()];
  const Node& multiply = model_.nodes[value.last()];
  const std::string& whole = names_[model_.nodes[value.whole()].output];
  onnx::TensorProto& zero =
      add_tensor(whole + ".zero", {}, value.is_signed ? onnx::TensorProto::INT8 : onnx::TensorProto::UINT8);
  const auto byte = static_cast<std::uint8_t>(value.zero);
  zero.set_raw_data(&byte, 1);
  const std::string zero_name = zero.name();
  add_node(quantise, "QuantizeLinear", {names_[divide.inputs[0]], names_[divide.inputs[1]], zero_name}, whole);
  add_node(dequantise, "DequantizeLinear", {whole, names_[multiply.inputs[1]], zero_name}, names_[multiply.output]);
}

}  // namespace spdnn::onnx_writer
