#include "io/models/model_file.hpp"

#include <fmt/format.h>

#include <utility>

#include "io/models/model_form.hpp"
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

namespace {

/// The same model for inputs of another shape.
Model reshaped(Model model, const Shape& shape) {
  if (model.inputs.size() != 1)
    throw UsageError("shape", fmt::format("the model has {} inputs, expected one", model.inputs.size()));
  model.values[model.inputs.front()].shape = shape;
  try {
    infer_shapes(model);
  } catch (const UsageError& unfit) {
    throw UsageError("shape", unfit.what());
  }
  return model;
}

}  // namespace

Model read_model(const Path& path, const std::optional<Shape>& shape) {
  const auto form = model_form_of(path);
  if (!form)
    throw DataError(fmt::format("{}: expected a model, {}{}", path.string(), kReadModelForms, conversion_hint(path)));
  if (*form == ModelForm::onnx) return read_onnx(path, shape);
  if (*form == ModelForm::tflite) return read_tflite(path, shape);
  Model model = *form == ModelForm::packed ? read_packed_model(path) : read_safetensors(path);
  return shape ? reshaped(std::move(model), *shape) : model;
}

bool is_model_form(const std::filesystem::path& path) {
  const auto form = model_form_of(path);
  return form && *form != ModelForm::tflite;
}

void write_model(const std::filesystem::path& path, const Model& model) {
  const auto form = model_form_of(path);
  if (form == ModelForm::onnx) return write_onnx(path, model);
  if (form == ModelForm::packed) return write_packed_model(path, model);
  write_safetensors(path, model);
}

std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path) {
  if (model_form_of(path) != ModelForm::safetensors) return {};
  return {architecture_beside(path)};
}

}  // namespace spdnn
