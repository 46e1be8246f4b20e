#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "io/models/tflite/graph.hpp"

namespace spdnn::tflite_reader {

/// One operator of the file as seen by its reader: inputs and options in, nodes or a constant out. All errors name the
/// file and the operator.
class OperatorReader {
 public:
  /// `number` is the operator's index in the file, from 0 as in TensorFlow's tools.
  OperatorReader(Graph& graph, const tflite::Operator& source, std::size_t number, const std::string& name);

  Graph& graph() { return graph_; }
  /// Formatted as FILE: operator 12 (CONV_2D).
  const std::string& where() const { return where_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(where_ + ": " + problem); }
  [[noreturn]] void fail_input(std::size_t i, const std::string& problem) const;

  /// The operator's options, or nullptr if it has none or those of another operator.
  template <class Options>
  const Options* options() const {
    return source_.builtin_options_as<Options>();
  }
  /// The same for options that are required.
  template <class Options>
  const Options& needed() const {
    const auto* given = options<Options>();
    if (given == nullptr) fail("its options are missing, or belong to another operator");
    return *given;
  }

  std::size_t inputs() const { return source_.inputs() == nullptr ? 0 : source_.inputs()->size(); }
  bool has_input(std::size_t i) const { return i < inputs() && input(i) >= 0; }
  TensorId input(std::size_t i) const { return source_.inputs()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  std::size_t outputs() const { return source_.outputs()->size(); }
  TensorId output(std::size_t i = 0) const { return source_.outputs()->Get(static_cast<flatbuffers::uoffset_t>(i)); }
  /// The bytes of a custom operator's options.
  std::span<const std::uint8_t> custom_options() const {
    if (source_.custom_options() == nullptr) return {};
    return {source_.custom_options()->data(), source_.custom_options()->size()};
  }
  /// The rank of the input.
  std::size_t rank(std::size_t i) const;

  const Constant* constant_or_null(std::size_t i) { return graph_.constant_or_null(checked_input(i)); }
  const Constant& constant(std::size_t i);
  std::vector<std::int64_t> integers(std::size_t i);
  /// The numbers of a constant list of length `count`, or empty if the input is missing.
  std::vector<float> bias(std::size_t i, Index count);
  /// The input as a value of the model. A constant is added to the values with `rank` axes, by prepending axes of
  /// length 1.
  ValueId value(std::size_t i, std::size_t rank);
  ValueId value(std::size_t i) { return value(i, rank(i)); }
  /// The shape of a value; images are N x C x H x W.
  const Shape& shape(ValueId value) const { return graph_.shape(value); }
  /// An input that has the four axes of images. DataError for others.
  ValueId images(std::size_t i);

  /// Adds a node.
  ValueId add(Operation operation, std::vector<ValueId> inputs);
  /// The value in the file's order of axes, with that shape. Nothing is moved if the order in memory is the same.
  ValueId in_file_order(ValueId value, const Shape& shape);
  /// Sets an output of the operator after applying the fused activation.
  void set_output(ValueId value, tflite::FusedActivation fused = tflite::FusedActivation::NONE, std::size_t i = 0);
  void set_output(Constant constant) { graph_.set(output(), std::move(constant)); }

 private:
  TensorId checked_input(std::size_t i) const;
  /// DataError if the file states another shape for that output; the batch is ignored.
  void require_stated_shape(const Shape& shape, std::size_t i) const;

  Graph& graph_;
  const tflite::Operator& source_;
  std::string where_;
  std::string name_;  ///< of the first output
};

/// min(high, max(low, x)).
Activation clip(float low, float high);

}  // namespace spdnn::tflite_reader
