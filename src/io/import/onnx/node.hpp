#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "io/import/onnx/graph.hpp"

namespace spdnn::onnx_reader {

/// One node of the file, as the reader of its operator sees it: attributes and inputs in, operations or a constant out.
/// It notes which attributes were asked for, so that none is overlooked. All errors name file, node and operator.
class NodeReader {
 public:
  /// `number` is the node's place in the file, from 1 on.
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
  /// The same, which need not be finite.
  float any_real(const std::string& name, float otherwise);
  std::string text(const std::string& name, const std::string& otherwise);
  std::optional<std::vector<std::int64_t>> integers(const std::string& name);
  std::optional<std::vector<float>> reals(const std::string& name);
  const onnx::AttributeProto* tensor(const std::string& name);
  /// DataError where the attribute is there and not `expected`; `supported` says what would do.
  void require(const std::string& name, std::int64_t expected, const std::string& supported);
  void require(const std::string& name, const std::string& expected);
  /// The attribute says nothing that matters to inference.
  void ignore(const std::string& name) { asked_.insert(name); }
  /// DataError where an attribute was not asked for.
  void finish() const;

  std::size_t inputs() const { return static_cast<std::size_t>(node_.input_size()); }
  bool has_input(std::size_t i) const { return i < inputs() && !node_.input(static_cast<int>(i)).empty(); }
  const std::string& input_name(std::size_t i) const { return node_.input(static_cast<int>(i)); }
  /// The input where it is a constant, or nullptr.
  const Constant* constant_or_null(std::size_t i) const;
  const Constant& constant(std::size_t i) const;
  /// Constants of that type: fp32, finite, or integers without the number of images in a batch.
  std::span<const float> floats(std::size_t i) const;
  std::span<const std::int64_t> ints(std::size_t i) const;
  /// One number that is constant: of any shape that has one element. It need not be finite.
  float scalar(std::size_t i) const;
  /// The input where it is a value with -inf around, or nullptr.
  const Surrounded* surrounded_or_null(std::size_t i) const;
  /// The input as a value of the model; a constant becomes one.
  ValueId value(std::size_t i);
  /// The shape of an input that is of floating point, constant or not.
  const Shape& shape(std::size_t i) const;
  /// An axis that counts from the end where it is negative, checked against the rank. `limit` axes are allowed for.
  std::size_t axis(const std::string& attribute_or_input, std::int64_t axis, std::size_t limit) const;

  /// Adds a node of the model.
  ValueId add(Operation operation, std::vector<ValueId> inputs);
  /// Adds a constant that stands in no file to the model's values.
  ValueId add_constant(const Constant& constant);
  /// What the node's first output is.
  void set_output(Symbol symbol);
  void set_output(Operation operation, std::vector<ValueId> inputs) {
    set_output(add(std::move(operation), std::move(inputs)));
  }
  std::size_t outputs() const { return static_cast<std::size_t>(node_.output_size()); }

 private:
  const onnx::AttributeProto* attribute(const std::string& name);
  const onnx::AttributeProto* attribute(const std::string& name, onnx::AttributeProto::AttributeType type);

  Graph& graph_;
  const onnx::NodeProto& node_;
  std::string name_;
  std::string where_;
  std::set<std::string> asked_;
};

}  // namespace spdnn::onnx_reader
