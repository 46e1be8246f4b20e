#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "spdnn/categories.hpp"
#include "spdnn/images.hpp"
#include "spdnn/model.hpp"
#include "spdnn/network.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

using Path = std::filesystem::path;

/// The forms of networks and image sets on disk; the path determines the form.
enum class Form { tsv, tsv_gz, matrix_market, packed };

/// From the name's ending: .tsv, .tsv.gz, .mtx, .spdnn. DataError for any other.
Form form_of(const Path& path);

/// For the user, of a file that was read: that it is empty, or that it may be cut off.
using FileNotes = std::vector<std::string>;

/// The caller's knowledge about a network on disk. Missing fields are taken from file names, headers or the packed
/// file. DataError if a field contradicts the files.
struct NetworkRequest {
  /// Empty: detect. One number: all layers are square. Otherwise: the inputs of layer 1, then the outputs of each
  /// layer.
  std::vector<Index> neurons{};
  std::optional<Index> layers{};  ///< read only that many layers
  ProgressCallback progress = {};
  /// Reads layers and biases in text form whose last line has no newline, with a note. Otherwise that is a DataError: a
  /// file that was cut within its last number would be another network's.
  bool allow_missing_newline = false;
};

/// Reads a directory of nN-lK.tsv[.gz] or .mtx layers with optional nN-lK-bias.tsv, one such layer file, or a packed
/// file. The bias of layers without a bias file stays 0, for the caller to set; packed files have bias, rule and cap.
struct NetworkFile {
  Network network;
  bool has_bias = false;  ///< bias files or a packed file gave the biases
  bool has_rule = false;  ///< a packed file gave bias_rule and cap
  FileNotes notes{};
};
NetworkFile read_network(const Path& path, const NetworkRequest& request);

/// Reads sparse-images-N.tsv[.gz], .mtx or packed images. If `images` is given, larger ids are an error, and trailing
/// empty images are kept; otherwise the largest id is the number of images. Notes are added to `notes`.
ImageSet read_images(const Path& path, std::optional<Index> neurons, std::optional<Index> images,
                     FileNotes* notes = nullptr);
Categories read_categories(const Path& path, FileNotes* notes = nullptr);
/// Reads a model: .onnx, .tflite, .spdnn, or .safetensors with architecture.json beside it. `shape` is the shape of its
/// input, if the file leaves it open or has another. DataError, naming node and attribute, if the file is invalid or
/// not supported; UsageError if the shape does not fit.
Model read_model(const Path& path, const std::optional<Shape>& shape = std::nullopt);

/// Every output appears whole or not at all; see atomic_file.hpp, and directory/replacement.hpp for layers in text
/// form.
void write_network(const Path& path, Form form, const Network& network, const ProgressCallback& progress = {});
void write_images(const Path& path, const ImageSet& images);
/// Writes a model with known shapes: .onnx, .spdnn, or .safetensors with architecture.json beside it. DataError for any
/// other name, or if the format cannot express the model.
void write_model(const Path& path, const Model& model);
void write_categories(const Path& path, const Categories& categories);
/// Writes text, such as a JSON report, with the same guarantee.
void write_text(const Path& path, std::string_view text);

}  // namespace spdnn
