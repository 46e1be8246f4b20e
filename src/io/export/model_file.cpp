#include "io/export/model_file.hpp"

#include "io/export/onnx.hpp"
#include "io/export/packed_model.hpp"
#include "io/export/safetensors.hpp"
#include "io/import/model_form.hpp"
#include "io/import/safetensors.hpp"
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
