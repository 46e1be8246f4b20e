#include "io/models/model_form.hpp"

#include <system_error>

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
           "makes "
           "an ONNX file of a frozen graph";
  if (ending == ".h5" || ending == ".hdf5" || ending == ".keras")
    return "; `python -m tf2onnx.convert --keras FILE --output model.onnx` makes an ONNX file of a Keras model, and "
           "tf.lite.TFLiteConverter.from_keras_model(model).convert() a .tflite file";
  return {};
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
