#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>

#include "io/models/budget.hpp"
#include "io/models/onnx/read/constant.hpp"
#include "io/models/onnx/read/tensor.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn::onnx_reader {

/// A value with a border of -inf, which exporters put in front of a MaxPool. Padding does not affect a maximum either,
/// so the border becomes padding of the pool. No other operation accepts it, as no value of a model is infinite.
struct Surrounded {
  ValueId value = 0;
  Shape shape;                       ///< including the border
  std::array<Index, 2> begin{0, 0};  ///< as Window::pad_begin
  std::array<Index, 2> end{0, 0};
};

/// The meaning of a name in the file: a value of the model, or a constant.
using Symbol = std::variant<ValueId, Constant, Surrounded, SparseConstant>;

/// The model under construction, and the meaning of the file's names in it.
class Graph {
 public:
  Graph(std::string file, int opset, TensorReader& tensors, Budget& budget)
      : file_(std::move(file)), opset_(opset), tensors_(tensors), budget_(budget) {}

  const std::string& file() const { return file_; }
  int opset() const { return opset_; }
  TensorReader& tensors() { return tensors_; }
  Budget& budget() { return budget_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(file_ + ": " + problem); }

  void set(const std::string& name, Symbol symbol);
  const Symbol& symbol(const std::string& name) const { return symbols_.at(name); }
  bool has(const std::string& name) const { return symbols_.contains(name); }
  /// The constant of that name, or nullptr. A sparse one gets its zeros.
  const Constant* constant_or_null(const std::string& name);
  const Shape& shape(ValueId value) const { return model_.values[value].shape; }

  /// Values whose elements are integers in the file, of that type if it is known: fp32 numbers here, exact up to 2^24.
  void mark_whole(ValueId value, std::optional<NumberType> type = {}) { whole_[value] = type; }
  bool is_whole(ValueId value) const { return whole_.contains(value); }
  std::optional<NumberType> type_of_whole(ValueId value) const { return whole_.at(value); }

  /// Adds an input of the model.
  ValueId add_input(const std::string& name, Shape shape);
  /// Adds a constant to the values, once for all of its names. It must have finite fp32 numbers.
  ValueId add_constant(const Constant& constant);
  /// Makes the value of that name an output of the model. Each output must be computed by a node, and be used once.
  void add_output(const std::string& name);

  /// The non-zeros of a constant as a row-major (or column-major) matrix of finite fp32 numbers, built once and shared.
  Weights weights(const std::string& where, const std::string& name, Offset rows, Offset cols, bool transposed);

  Model& model() { return model_; }

 private:
  std::string file_;
  int opset_;
  TensorReader& tensors_;
  Budget& budget_;
  Model model_;
  std::map<std::string, Symbol> symbols_;
  std::map<ValueId, std::optional<NumberType>> whole_;
  /// Keyed by address and shape. The values keep the storage alive, so that no address is reused.
  std::map<std::pair<const float*, Shape>, ValueId> constants_;
  std::map<std::tuple<const float*, Offset, Offset, bool>, Weights> matrices_;
};

}  // namespace spdnn::onnx_reader
