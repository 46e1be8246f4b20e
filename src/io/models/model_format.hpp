#pragma once

#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "spdnn/model.hpp"

namespace spdnn {

/// A format of model files: a line of model_formats() (model_file.cpp).
struct ModelFormat {
  std::string_view ending;  ///< of the names of its files, such as ".onnx"
  /// Reads a file; all shapes of the model are inferred. `shape` is the input's, where the file leaves it open or has
  /// another. DataError, beginning with the file's name, if the file is invalid.
  Model (*read)(const std::filesystem::path& path, const std::optional<Shape>& shape);
  /// Writes a model with known shapes, so that a file appears whole or not at all. DataError if the format cannot
  /// express the model. nullptr: the format is only read.
  void (*write)(const std::filesystem::path& path, const Model& model);
  /// The path of a second file that belongs to the model. nullptr: there is none.
  std::filesystem::path (*beside)(const std::filesystem::path& path) = nullptr;
  /// Whether a file holds a model, if files of this ending may hold something else. nullptr: they always do.
  bool (*holds_model)(const std::filesystem::path& path) = nullptr;
};

/// The model with this shape of its only input. UsageError if it has several or does not take the shape.
Model reshaped(Model model, const Shape& shape);

/// ModelFormat::read of a format whose files always have all shapes.
template <Model (*read)(const std::filesystem::path&)>
Model read_then_reshape(const std::filesystem::path& path, const std::optional<Shape>& shape) {
  Model model = read(path);
  return shape ? reshaped(std::move(model), *shape) : model;
}

}  // namespace spdnn
