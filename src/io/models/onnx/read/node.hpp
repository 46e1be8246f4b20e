#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/models/onnx/read/graph.hpp"

namespace spdnn::onnx_reader {

/// One node of the file as seen by the reader of its operator: attributes and inputs in, operations or a constant out.
/// It records which attributes were read, so that none is overlooked. All errors name file, node and operator.
class NodeReader {
 public:
  /// `number` is the node's position in the file, from 1.
  NodeReader(Graph& graph, const onnx::NodeProto& node, int number);

  Graph& graph() { return graph_; }
  int opset() const { return graph_.opset(); }
  /// FILE: node 'NAME' (OPERATOR).
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& problem) const;
  [[noreturn]] void fail_attribute(const std::string& name, const std::string& problem) const;
  [[noreturn]] void fail_input(std::size_t i, const std::string& problem) const;

  bool has(const std::string& name) { return attribute(name) != nullptr; }
  std::int64_t integer(const std::string& name, std::int64_t otherwise);
  float real(const std::string& name, float otherwise);
  /// The same, but not necessarily finite.
  float any_real(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> integers(const std::string& name);
  std::optional<std::vector<float>> reals(const std::string& name);
  const onnx::AttributeProto* tensor(const std::string& name);
  /// DataError if the attribute is given and not `expected`; `supported` describes the supported value.
  void require(const std::string& name, std::int64_t expected, const std::string& supported);
  void require(const std::string& name, const std::string& expected);
  /// Marks the attribute as irrelevant to inference.
  void ignore(const std::string& name) { asked_.insert(name); }
  /// DataError if an attribute was not read.
  void finish() const;

  std::size_t inputs() const { return static_cast<std::size_t>(node_.input_size()); }
  bool has_input(std::size_t i) const { return i < inputs() && !node_.input(static_cast<int>(i)).empty(); }
  const std::string& input_name(std::size_t i) const { return node_.input(static_cast<int>(i)); }
  /// The input if it is a constant, or nullptr.
  const Constant* constant_or_null(std::size_t i) const;
  const Constant& constant(std::size_t i) const;
  /// The numbers of a constant input: finite fp32, or integers that do not depend on the batch size.
  std::span<const float> floats(std::size_t i) const;
  std::span<const std::int64_t> ints(std::size_t i) const;
  /// The shape of a constant of floating-point numbers, which may be sparse.
  Shape weights_shape(std::size_t i) const;
  /// The constant as a matrix, see Graph::weights().
  Weights weights(std::size_t i, Offset rows, Offset cols, bool transposed) const {
    return graph_.weights(input_text(i), input_name(i), rows, cols, transposed);
  }
  /// The only number of a constant with one element, of any shape. It need not be finite.
  float scalar(std::size_t i) const;
  /// The input if it is a value with a border of -inf, or nullptr.
  const Surrounded* surrounded_or_null(std::size_t i) const;
  /// The input as a value of the model; a constant is added to the model's values. DataError if it has integers.
  ValueId value(std::size_t i);
  /// The same, but it may be a value of integers (Graph::is_whole), which operators that move elements take.
  ValueId any_value(std::size_t i);
  bool is_whole(std::size_t i) const;
  /// Whether the input is known when the file is read, sparse or not.
  bool is_constant(std::size_t i) const;
  /// The shape of a floating-point input, constant or not.
  const Shape& shape(std::size_t i) const;
  /// Resolves an axis, negative ones from the end, and checks it against `limit` axes.
  std::size_t axis(const std::string& attribute_or_input, std::int64_t axis, std::size_t limit) const;

  /// Adds a node of the model, or the constant that it makes of constants.
  ValueId add(Operation operation, std::vector<ValueId> inputs);
  /// Adds a constant that is not in the file to the model's values.
  ValueId add_constant(const Constant& constant);
  /// Sets an output of the node, the first by default.
  void set_output(Symbol symbol, std::size_t i = 0);
  void set_output(Operation operation, std::vector<ValueId> inputs) {
    set_output(add(std::move(operation), std::move(inputs)));
  }
  /// The same for a value with the elements of input 0: they are integers if those are.
  void set_moved(ValueId value);
  bool has_output(std::size_t i) const { return i < outputs() && !node_.output(static_cast<int>(i)).empty(); }
  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }

 private:
  /// The input as messages name it.
  std::string input_text(std::size_t i) const;
  /// The result of an operation on constants; empty if it is not finite, or an input is not a constant.
  std::optional<Constant> folded(const Operation& operation, const std::vector<ValueId>& inputs);
  const onnx::AttributeProto* attribute(const std::string& name);
  const onnx::AttributeProto* attribute(const std::string& name, onnx::AttributeProto::AttributeType type);

  Graph& graph_;
  const onnx::NodeProto& node_;
  std::string name_;
  std::string where_;
  std::set<std::string> asked_;
};

}  // namespace spdnn::onnx_reader
