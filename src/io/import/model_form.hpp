#pragma once

#include <filesystem>

namespace spdnn {

/// Whether the name is one that models alone have: .onnx, .tflite, .safetensors.
bool names_model(const std::filesystem::path& path);
/// Whether the file is a model's: by its name, or where it is a packed file by what is in it. False where that cannot
/// be read; whoever reads the file then says why.
bool holds_model(const std::filesystem::path& path);

}  // namespace spdnn
