#pragma once

#include <string>
#include <vector>

#include "io/import/tflite/graph.hpp"

namespace spdnn::tflite_reader {

/// One operator of the file, as its reader sees it: inputs and options in, nodes or a constant out. All errors name the
/// file and the operator.
class OperatorReader {
 public:
  /// `number` is the operator's place in the file, from 0 on like those of TensorFlow's tools.
  OperatorReader(Graph& graph, const tflite::Operator& source, std::size_t number, tflite::BuiltinOperator code);

  Graph& graph() { return graph_; }
  /// FILE: operator 12 (CONV_2D).
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(where_ + ": " + problem); }
  [[noreturn]] void fail_input(std::size_t i, const std::string& problem) const;

  /// The operator's options, or nullptr where it has none or those of another operator.
  template <class Options>
  const Options* options() const {
    return source_.builtin_options_as<Options>();
  }
  /// The same where the operator cannot be without.
  template <class Options>
  const Options& needed() const {
    const auto* given = options<Options>();
    if (given == nullptr) fail("its options are missing, or of another operator");
    return *given;
  }

  std::size_t inputs() const { return source_.inputs() == nullptr ? 0 : source_.inputs()->size(); }
  bool has_input(std::size_t i) const { return i < inputs() && input(i) >= 0; }
  TensorId input(std::size_t i) const { return source_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  TensorId output() const { return source_.outputs()->Get(0); }
  /// How many axes the input has.
  std::size_t rank(std::size_t i) const;

  const Constant* constant_or_null(std::size_t i) { return graph_.constant_or_null(checked_input(i)); }
  const Constant& constant(std::size_t i);
  std::vector<std::int64_t> integers(std::size_t i);
  /// The numbers of a constant that is a list of `count`, or empty where the input is left out.
  std::vector<float> bias(std::size_t i, Index count);
  /// The input as a value of the model. A constant becomes one, of that many axes; ones come before those it has.
  ValueId value(std::size_t i, std::size_t rank);
  ValueId value(std::size_t i) { return value(i, rank(i)); }
  /// The shape of a value: images are N x C x H x W.
  const Shape& shape(ValueId value) const { return graph_.shape(value); }
  /// An input that is of images. DataError for others.
  ValueId images(std::size_t i);

  /// Adds a node.
  ValueId add(Operation operation, std::vector<ValueId> inputs);
  /// The value in the file's order of axes, of that shape. Nothing is moved where the order in memory is the same.
  ValueId in_file_order(ValueId value, const Shape& shape);
  /// What the operator's output is, once the activation is applied that is fused into it.
  void set_output(ValueId value, tflite::FusedActivation fused = tflite::FusedActivation::NONE);
  void set_output(Constant constant) { graph_.set(output(), std::move(constant)); }

 private:
  TensorId checked_input(std::size_t i) const;
  /// DataError where the file says that the output has another shape; the batch is not looked at.
  void require_stated_shape(const Shape& shape) const;

  Graph& graph_;
  const tflite::Operator& source_;
  std::string where_;
  std::string name_;  ///< of the first output
};

/// min(high, max(low, x)).
Activation clip(float low, float high);

}  // namespace spdnn::tflite_reader
