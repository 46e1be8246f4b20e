#include "io/models/onnx/write/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "model/graph/uses.hpp"
#include "spdnn/error.hpp"

namespace spdnn::onnx_writer {

namespace {

std::size_t bytes_of_one(int type) {
  if (type == onnx::TensorProto::INT8 || type == onnx::TensorProto::UINT8) return 1;
  return type == onnx::TensorProto::FLOAT ? sizeof(float) : sizeof(std::int64_t);
}

/// The nodes that QuantizeLinear and DequantizeLinear stand for.
struct FusedNodes {
  explicit FusedNodes(const Model& model)
      : values(quantised_values(model)), part_of(model.nodes.size()), unwritten(model.values.size()) {
    const ValueUses uses = uses_of(model);
    std::vector<std::size_t> reads(model.values.size());
    for (const QuantisedValue& value : values) {
      for (const std::size_t n : value.nodes) {
        part_of[n] = &value;
        unwritten[model.nodes[n].output] = n != value.whole() && n != value.last();
      }
      for (const ValueId zero : value.zeros)
        unwritten[zero] = ++reads[zero] == uses.readers[zero].size() && !uses.is_output[zero];
    }
  }
  std::vector<QuantisedValue> values;
  std::vector<const QuantisedValue*> part_of;  ///< by node; nullptr: it is written as it is
  std::vector<bool> unwritten;                 ///< values between these nodes, and constants that only they read
};

}  // namespace

GraphWriter::GraphWriter(const Model& model, std::string place, onnx::GraphProto& graph, bool sparse)
    : model_(model), place_(std::move(place)), graph_(graph), sparse_(sparse) {}

void GraphWriter::fail(const std::string& problem) const {
  throw DataError(fmt::format("{}: cannot hold the model '{}': {}", place_, model_.name, problem));
}

void GraphWriter::require_room(std::size_t bytes) const {
  constexpr std::size_t kMost = std::numeric_limits<int>::max();
  if (bytes > kMost) fail(fmt::format("{} bytes are more than the 2 GiB of a protobuf file", bytes));
}

void GraphWriter::write() {
  graph_.set_name(model_.name.empty() ? "model" : escaped(model_.name));
  // If names clash, inputs and outputs keep theirs, because users of the file know them.
  names_.resize(model_.values.size());
  for (const std::vector<ValueId>* ids : {&model_.inputs, &model_.outputs})
    for (const ValueId id : *ids) name_value(id);
  const FusedNodes fused(model_);
  for (ValueId id = 0; id < names_.size(); ++id)
    if (!fused.unwritten[id]) name_value(id);
  for (const ValueId input : model_.inputs) describe(*graph_.add_input(), names_[input], shape(input));
  for (ValueId id = 0; id < model_.values.size(); ++id) {
    const auto& constant = model_.values[id].constant;
    if (!constant || fused.unwritten[id]) continue;
    // The name is the value's own, reserved above.
    onnx::TensorProto& tensor = add_tensor("", constant->shape, onnx::TensorProto::FLOAT);
    tensor.set_name(names_[id]);
    tensor.set_raw_data(constant->values.data(), constant->values.bytes());
  }
  const std::vector<std::string> node_names = name_nodes(fused.unwritten);
  for (std::size_t n = 0; n < model_.nodes.size(); ++n)
    if (!fused.part_of[n])
      write_node(*this, model_.nodes[n], node_names[n]);
    else if (const QuantisedValue& value = *fused.part_of[n]; value.last() == n)
      add_quantised(value, node_names[value.whole()], node_names[n]);
  add_outputs();
}

void GraphWriter::name_value(ValueId id) {
  if (names_[id].empty()) names_[id] = new_name(model_.values[id].name);
}

/// Of the nodes with one name, which may come from one operator of another file, the first keeps it. Nodes without a
/// name have that of their output, and so do identities: readers drop them, and add one if an output needs it. Nodes
/// whose output is not written get none.
std::vector<std::string> GraphWriter::name_nodes(const std::vector<bool>& unwritten) {
  std::vector<std::string> wanted;
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Node& node : model_.nodes) {
    const auto* const activation = std::get_if<Activation>(&node.operation);
    const bool identity = activation != nullptr && activation->kind == Activation::Kind::identity;
    wanted.push_back(node.name.empty() || identity ? names_[node.output] : node.name);
    const bool named = !unwritten[node.output] && seen.insert(wanted.back()).second;
    names.push_back(named ? new_node_name(wanted.back()) : "");
  }
  for (std::size_t n = 0; n < names.size(); ++n)
    if (names[n].empty() && !unwritten[model_.nodes[n].output]) names[n] = new_node_name(wanted[n]);
  return names;
}

/// ONNX outputs must be made by nodes and be distinct.
void GraphWriter::add_outputs() {
  std::vector<ValueId> before = model_.inputs;
  for (const ValueId output : model_.outputs) {
    std::string name = names_[output];
    if (std::count(before.begin(), before.end(), output) > 0 || model_.values[output].constant) {
      name = new_name(name);
      add_node(new_node_name(name), "Identity", {names_[output]}, name);
    }
    describe(*graph_.add_output(), name, shape(output));
    before.push_back(output);
  }
}

void GraphWriter::describe(onnx::ValueInfoProto& info, const std::string& name, const Shape& shape) const {
  info.set_name(name);
  onnx::TypeProto::Tensor& type = *info.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx::TensorProto::FLOAT);
  onnx::TensorShapeProto& axes = *type.mutable_shape();
  for (const Extent extent : shape) {
    onnx::TensorShapeProto::Dimension& axis = *axes.add_dim();
    if (extent == kBatchExtent)
      axis.set_dim_param("N");
    else
      axis.set_dim_value(extent);
  }
}

std::string GraphWriter::new_name(const std::string& wanted) { return taken_.take(escaped(wanted)); }

onnx::NodeProto& GraphWriter::add_node(const std::string& name, const char* op, const std::vector<std::string>& inputs,
                                       const std::string& output) {
  onnx::NodeProto& node = *graph_.add_node();
  node.set_name(name);
  node.set_op_type(op);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::TensorProto& GraphWriter::add_tensor(const std::string& wanted, const Shape& shape, int type) {
  require_room_for(*elements(shape) * bytes_of_one(type));
  onnx::TensorProto& tensor = *graph_.add_initializer();
  if (!wanted.empty()) tensor.set_name(new_name(wanted));
  tensor.set_data_type(type);
  for (const Extent extent : shape) tensor.add_dims(extent);
  return tensor;
}

/// Writes a linear index for each non-zero, in row-major order of the tensor.
std::string GraphWriter::add_sparse(const std::string& wanted, const Shape& shape, const CsrMatrix& matrix) {
  require_room_for(sparse_bytes(matrix));
  std::vector<float> values;
  std::vector<std::int64_t> places;
  for (Index row = 0; row < matrix.rows; ++row)
    for (Offset k = matrix.offsets[row]; k < matrix.offsets[std::size_t{row} + 1]; ++k) {
      values.push_back(matrix.entry_value(k));
      places.push_back(std::int64_t{row} * matrix.cols + matrix.indices[k]);
    }
  onnx::SparseTensorProto& tensor = *graph_.add_sparse_initializer();
  for (const Extent extent : shape) tensor.add_dims(extent);
  const auto fill = [&](onnx::TensorProto& list, int type, const auto& numbers) {
    list.set_data_type(type);
    list.add_dims(static_cast<std::int64_t>(numbers.size()));
    list.set_raw_data(numbers.data(), numbers.size() * sizeof(numbers[0]));
  };
  fill(*tensor.mutable_values(), onnx::TensorProto::FLOAT, values);
  fill(*tensor.mutable_indices(), onnx::TensorProto::INT64, places);
  tensor.mutable_values()->set_name(new_name(wanted));
  return tensor.values().name();
}

void GraphWriter::require_room_for(std::size_t bytes) {
  bytes_ += bytes;
  require_room(bytes_);
}

std::string GraphWriter::add_floats(const std::string& wanted, const Shape& shape, std::span<const float> values) {
  onnx::TensorProto& tensor = add_tensor(wanted, shape, onnx::TensorProto::FLOAT);
  tensor.set_raw_data(values.data(), values.size_bytes());
  return tensor.name();
}

std::string GraphWriter::add_ints(const std::string& wanted, const std::vector<std::int64_t>& values) {
  onnx::TensorProto& tensor = add_tensor(wanted, {static_cast<Extent>(values.size())}, onnx::TensorProto::INT64);
  tensor.set_raw_data(values.data(), values.size() * sizeof(std::int64_t));
  return tensor.name();
}

std::string GraphWriter::add_matrix(const std::string& wanted, const Shape& shape, const CsrMatrix& matrix,
                                    bool by_columns) {
  if (sparse_ && sparse_bytes(matrix) < dense_bytes(matrix))
    return add_sparse(wanted, shape, by_columns ? transpose(matrix) : matrix);
  onnx::TensorProto& tensor = add_tensor(wanted, shape, onnx::TensorProto::FLOAT);
  const std::vector<float> dense =
      by_columns ? dense_rows(transpose(matrix), 0, matrix.cols) : dense_rows(matrix, 0, matrix.rows);
  tensor.set_raw_data(dense.data(), dense.size() * sizeof(float));
  return tensor.name();
}

std::string GraphWriter::add_weights(const std::string& wanted, const Shape& shape, const Weights& weights,
                                     bool by_columns) {
  return are_whole(weights) ? add_whole(wanted, shape, weights, by_columns)
                            : add_matrix(wanted, shape, weights, by_columns);
}

}  // namespace spdnn::onnx_writer
