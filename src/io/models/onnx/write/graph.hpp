#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/text/message.hpp"
#include "io/models/onnx/proto.hpp"
#include "io/models/unique_names.hpp"
#include "model/graph/quantised.hpp"
#include "spdnn/model.hpp"

namespace spdnn::onnx_writer {

/// Bytes of a matrix in an initializer with its zeros, and in one without: a number and a place for each non-zero.
inline std::size_t dense_bytes(const CsrMatrix& matrix) {
  return std::size_t{matrix.rows} * matrix.cols * sizeof(float);
}
inline std::size_t sparse_bytes(const CsrMatrix& matrix) {
  return matrix.entries() * (sizeof(float) + sizeof(std::int64_t));
}

/// Whether the weights are written as int8 or uint8.
inline bool are_whole(const Weights& weights) {
  return weights.typed() != nullptr && is_whole(weights.typed()->values.type);
}

/// Builds the graph of an ONNX file from a model's values and nodes. Names are the model's, escaped to UTF-8. They are
/// unique among the values, and among the nodes, because other programs refuse the file otherwise.
class GraphWriter {
 public:
  /// `place` is the file name in messages. `sparse`: matrices are written without their zeros where that takes fewer
  /// bytes.
  GraphWriter(const Model& model, std::string place, onnx::GraphProto& graph, bool sparse);

  void write();
  /// The operator set required by the nodes written so far.
  int opset() const { return opset_; }
  [[noreturn]] void fail(const std::string& problem) const;
  /// DataError if `bytes` exceed the limit of a protobuf file.
  void require_room(std::size_t bytes) const;

  // For the writer of a node.
  const Shape& shape(ValueId value) const { return model_.values[value].shape; }
  const std::string& name(ValueId value) const { return names_[value]; }
  void need_opset(int opset) { opset_ = std::max(opset_, opset); }
  /// A name not yet used for a value of the file.
  std::string new_name(const std::string& wanted);
  /// A name not yet used for a node of the file.
  std::string new_node_name(const std::string& wanted) { return node_names_taken_.take(escaped(wanted)); }
  /// `name` is from new_node_name().
  onnx::NodeProto& add_node(const std::string& name, const char* op, const std::vector<std::string>& inputs,
                            const std::string& output);
  /// Adds an initializer, and returns its name.
  std::string add_floats(const std::string& wanted, const Shape& shape, std::span<const float> values);
  std::string add_ints(const std::string& wanted, const std::vector<std::int64_t>& values);
  /// Adds the numbers of a matrix by rows or by columns, zeros included unless they are left out. Whole numbers stay
  /// what they are: a DequantizeLinear follows them.
  std::string add_weights(const std::string& wanted, const Shape& shape, const Weights& weights, bool by_columns);

 private:
  onnx::TensorProto& add_tensor(const std::string& wanted, const Shape& shape, int type);
  std::string add_matrix(const std::string& wanted, const Shape& shape, const CsrMatrix& matrix, bool by_columns);
  std::string add_whole(const std::string& wanted, const Shape& shape, const Weights& weights, bool by_columns);
  void add_quantised(const QuantisedValue& value, const std::string& quantise, const std::string& dequantise);
  std::string add_sparse(const std::string& wanted, const Shape& shape, const CsrMatrix& matrix);
  void require_room_for(std::size_t bytes);
  void describe(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) const;
  void name_value(ValueId id);
  std::vector<std::string> name_nodes(const std::vector<bool>& unwritten);
  void add_outputs();

  const Model& model_;
  std::string place_;
  onnx::GraphProto& graph_;
  bool sparse_;
  UniqueNames taken_;
  UniqueNames node_names_taken_;
  std::vector<std::string> names_;  ///< of values
  int opset_ = 17;
  std::size_t bytes_ = 0;  ///< of all initializers
};

/// Adds the operators that represent the node; `name` is that of the last one, and begins the names of its weights.
void write_node(GraphWriter& graph, const Node& node, const std::string& name);

}  // namespace spdnn::onnx_writer
