#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "io/import/tflite/constant.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn::tflite_reader {

/// The number of a tensor in the file.
using TensorId = std::int32_t;

/// Tensors of four axes are images.
inline constexpr std::size_t kImageAxes = 4;
/// From N x H x W x C to N x C x H x W.
inline Transpose to_channels_first() { return {{0, 3, 1, 2}}; }
/// From N x C x H x W to N x H x W x C.
inline Transpose to_channels_last() { return {{0, 2, 3, 1}}; }

/// The axis of a value for an axis of its tensor, which are `rank`.
inline Index axis_of_value(std::size_t axis, std::size_t rank) {
  static constexpr std::array<Index, kImageAxes> kOfImages{0, 2, 3, 1};
  return rank == kImageAxes ? kOfImages[axis] : static_cast<Index>(axis);
}

/// The model as far as it is built, and which value each tensor of the file has become. A tensor of four axes,
/// N x H x W x C in the file, is N x C x H x W as a value; all others keep their axes.
class Graph {
 public:
  /// `reshaped`: the input has another shape than the file says, and so what follows from it.
  Graph(std::string file, const tflite::Model& source, const tflite::SubGraph& graph, bool reshaped, Budget& budget)
      : file_(std::move(file)), source_(source), graph_(graph), reshaped_(reshaped), budget_(budget) {}

  Model& model() { return model_; }
  const tflite::Model& source() const { return source_; }
  const std::string& file() const { return file_; }
  bool reshaped() const { return reshaped_; }
  Budget& budget() { return budget_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(file_ + ": " + problem); }

  /// DataError where there is no tensor of that number.
  const tflite::Tensor& tensor(TensorId id) const;
  std::string name(TensorId id) const;
  /// FILE: tensor 12 'NAME'.
  std::string where(TensorId id) const;

  const Shape& shape(ValueId value) const { return model_.values[value].shape; }
  void add_input(TensorId id, Shape shape);
  /// What the tensor is where it is an input of the model or made by an operator before; nullptr elsewhere.
  const std::variant<ValueId, Constant>* made(TensorId id) const;
  /// The tensor as a constant that an operator made or the file has, or nullptr.
  const Constant* constant_or_null(TensorId id);
  void set(TensorId id, std::variant<ValueId, Constant> what);

  ValueId add_value(std::string name, const Constant& constant);
  /// Makes the tensor an output of the model, in the file's order of axes.
  void add_output(TensorId id);

 private:
  std::string file_;
  const tflite::Model& source_;
  const tflite::SubGraph& graph_;
  bool reshaped_;
  Budget& budget_;
  Model model_;
  std::map<TensorId, std::variant<ValueId, Constant>> made_;
  std::map<TensorId, Constant> constants_;  ///< of the file, as far as they were asked for
};

}  // namespace spdnn::tflite_reader
