#include "io/models/model_file.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <system_error>

#include "io/models/onnx/reader.hpp"
#include "io/models/onnx/writer.hpp"
#include "io/models/packed/reader.hpp"
#include "io/models/packed/writer.hpp"
#include "io/models/safetensors/reader.hpp"
#include "io/models/safetensors/writer.hpp"
#include "io/models/tflite/reader.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

std::span<const ModelFormat> model_formats() {
  static constexpr std::array<ModelFormat, 4> kFormats{{
      {".onnx", read_onnx, write_onnx},
      {".tflite", read_tflite, nullptr},
      {".safetensors", read_then_reshape<read_safetensors>, write_safetensors, architecture_beside},
      {".spdnn", read_then_reshape<read_packed_model>, write_packed_model, nullptr, holds_packed_model},
  }};
  return kFormats;
}

namespace {

/// "a, b or c".
std::string listed(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 < names.size() ? ", " : " or ";
    text += names[i];
  }
  return text;
}

}  // namespace

const ModelFormat* find_format(const std::filesystem::path& path, std::span<const ModelFormat> formats) {
  const std::filesystem::path ending = path.extension();
  for (const ModelFormat& format : formats)
    if (ending == format.ending) return &format;
  return nullptr;
}

std::string read_endings(std::span<const ModelFormat> formats) {
  std::vector<std::string_view> endings;
  for (const ModelFormat& format : formats) endings.push_back(format.ending);
  return listed(endings);
}

std::string written_endings(std::span<const ModelFormat> formats) {
  std::vector<std::string_view> endings;
  for (const ModelFormat& format : formats)
    if (format.write != nullptr) endings.push_back(format.ending);
  return listed(endings);
}

bool names_model(const std::filesystem::path& path) {
  const ModelFormat* const format = find_format(path, model_formats());
  return format != nullptr && format->holds_model == nullptr;
}

bool holds_model(const std::filesystem::path& path) {
  const ModelFormat* const format = find_format(path, model_formats());
  return format != nullptr && (format->holds_model == nullptr || format->holds_model(path));
}

std::string conversion_hint(const std::filesystem::path& path) {
  const std::string ending = path.extension().string();
  std::error_code unknown;
  if (ending == ".pt" || ending == ".pth" || ending == ".ckpt")
    return "; in PyTorch, torch.onnx.export(model.eval(), torch.zeros(1, 3, 224, 224), \"model.onnx\") writes a model "
           "as ONNX, the zeros in the shape of its input";
  if (std::filesystem::exists(path / "saved_model.pb", unknown) || path.filename() == "saved_model.pb")
    return "; `python -m tf2onnx.convert --saved-model DIRECTORY --output model.onnx` makes an ONNX file of a "
           "SavedModel, and tf.lite.TFLiteConverter.from_saved_model(\"DIRECTORY\").convert() a .tflite file";
  if (ending == ".pb")
    return "; `python -m tf2onnx.convert --graphdef FILE.pb --inputs NAME:0 --outputs NAME:0 --output model.onnx` "
           "makes an ONNX file of a frozen graph";
  if (ending == ".h5" || ending == ".hdf5" || ending == ".keras")
    return "; `python -m tf2onnx.convert --keras FILE --output model.onnx` makes an ONNX file of a Keras model, and "
           "tf.lite.TFLiteConverter.from_keras_model(model).convert() a .tflite file";
  return {};
}

Model read_model(const std::filesystem::path& path, const std::optional<Shape>& shape,
                 std::span<const ModelFormat> formats) {
  const ModelFormat* const format = find_format(path, formats);
  if (format == nullptr)
    throw DataError(
        fmt::format("{}: expected a model, {}{}", path.string(), read_endings(formats), conversion_hint(path)));
  return format->read(path, shape);
}

Model read_model(const Path& path, const std::optional<Shape>& shape) {
  return read_model(path, shape, model_formats());
}

bool is_written_form(const std::filesystem::path& path) {
  const ModelFormat* const format = find_format(path, model_formats());
  return format != nullptr && format->write != nullptr;
}

void write_model(const std::filesystem::path& path, const Model& model, std::span<const ModelFormat> formats) {
  const ModelFormat* const format = find_format(path, formats);
  if (format == nullptr || format->write == nullptr)
    throw DataError(fmt::format("{}: expected a name that ends in {}", path.string(), written_endings(formats)));
  format->write(path, model);
}

void write_model(const Path& path, const Model& model) { write_model(path, model, model_formats()); }

std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path) {
  const ModelFormat* const format = find_format(path, model_formats());
  if (format == nullptr || format->beside == nullptr) return {};
  return {format->beside(path)};
}

}  // namespace spdnn
