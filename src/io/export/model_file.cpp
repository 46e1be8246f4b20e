#include "io/export/model_file.hpp"

#include "io/export/onnx.hpp"
#include "io/export/packed_model.hpp"
#include "io/export/safetensors.hpp"
#include "io/import/safetensors.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

bool is_model_form(const std::filesystem::path& path) {
  const auto ending = path.extension();
  return ending == ".onnx" || ending == ".safetensors" || ending == ".spdnn";
}

void write_model(const std::filesystem::path& path, const Model& model) {
  if (path.extension() == ".onnx") return write_onnx(path, model);
  if (path.extension() == ".spdnn") return write_packed_model(path, model);
  write_safetensors(path, model);
}

std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path) {
  if (path.extension() != ".safetensors") return {};
  return {architecture_beside(path)};
}

}  // namespace spdnn
