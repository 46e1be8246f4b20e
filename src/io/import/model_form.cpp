#include "io/import/model_form.hpp"

#include "io/packed/stored_plan.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

bool names_model(const std::filesystem::path& path) {
  const auto ending = path.extension();
  return ending == ".onnx" || ending == ".tflite" || ending == ".safetensors";
}

bool holds_model(const std::filesystem::path& path) {
  if (path.extension() != ".spdnn") return names_model(path);
  try {
    return packed_contents(path).model;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace spdnn
