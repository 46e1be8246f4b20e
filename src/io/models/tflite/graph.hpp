#pragma once

#include <map>
#include <string>
#include <utility>
#include <variant>

#include "io/models/tflite/constant.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn::tflite_reader {

/// The index of a tensor in the file.
using TensorId = std::int32_t;

/// Tensors of four axes are images.
inline constexpr std::size_t kImageAxes = 4;
/// From N x H x W x C to N x C x H x W.
inline Transpose to_channels_first() { return {{0, 3, 1, 2}}; }
/// From N x C x H x W to N x H x W x C.
inline Transpose to_channels_last() { return {{0, 2, 3, 1}}; }

/// The value's axis that corresponds to an axis of its tensor of this rank.
inline Index axis_of_value(std::size_t axis, std::size_t rank) {
  static constexpr std::array<Index, kImageAxes> kOfImages{0, 2, 3, 1};
  return rank == kImageAxes ? kOfImages[axis] : static_cast<Index>(axis);
}

/// The model under construction, and the value of each tensor of the file. A tensor of four axes, N x H x W x C in the
/// file, is N x C x H x W as a value; all others keep their axes.
class Graph {
 public:
  /// `reshaped`: the input's shape differs from the file, so stated shapes that follow from it differ too.
  Graph(std::string file, const tflite::Model& source, const tflite::SubGraph& graph, bool reshaped, Budget& budget)
      : file_(std::move(file)), source_(source), graph_(graph), reshaped_(reshaped), budget_(budget) {}

  Model& model() { return model_; }
  const tflite::Model& source() const { return source_; }
  const std::string& file() const { return file_; }
  bool reshaped() const { return reshaped_; }
  Budget& budget() { return budget_; }
  [[noreturn]] void fail(const std::string& problem) const { throw DataError(file_ + ": " + problem); }

  /// DataError if there is no tensor of that index.
  const tflite::Tensor& tensor(TensorId id) const;
  std::string name(TensorId id) const;
  /// Formatted as FILE: tensor 12 'NAME'.
  std::string where(TensorId id) const;

  const Shape& shape(ValueId value) const { return model_.values[value].shape; }
  void add_input(TensorId id, Shape shape);
  /// The tensor's value if it is an input of the model or the output of an earlier operator; otherwise nullptr.
  const std::variant<ValueId, Constant>* find(TensorId id) const;
  /// The tensor as a constant, folded or stored in the file, or nullptr.
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
  std::map<TensorId, Constant> constants_;  ///< of the file, read so far
};

}  // namespace spdnn::tflite_reader
