#include "io/import/model_form.hpp"

#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

std::optional<ModelForm> model_form_of(const std::filesystem::path& path) {
  const auto ending = path.extension();
  if (ending == ".onnx") return ModelForm::onnx;
  if (ending == ".tflite") return ModelForm::tflite;
  if (ending == ".safetensors") return ModelForm::safetensors;
  if (ending == ".spdnn") return ModelForm::packed;
  return std::nullopt;
}

bool names_model(const std::filesystem::path& path) {
  const auto form = model_form_of(path);
  return form && *form != ModelForm::packed;
}

bool holds_model(const std::filesystem::path& path) {
  if (model_form_of(path) != ModelForm::packed) return names_model(path);
  try {
    return packed_contents(path).model;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace spdnn
