#include "io/models/model_file.hpp"

#include "io/models/model_form.hpp"
#include "io/models/onnx/writer.hpp"
#include "io/models/packed/writer.hpp"
#include "io/models/safetensors/reader.hpp"
#include "io/models/safetensors/writer.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

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
