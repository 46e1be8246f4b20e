#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace spdnn {

/// The forms of files that hold models. A packed file may hold a network or images instead.
enum class ModelForm { onnx, tflite, safetensors, packed };

/// The endings of files that models are read from, as messages list them.
inline constexpr const char* kReadModelForms = ".onnx, .tflite, .safetensors or .spdnn";
/// The same of files that models are written to.
inline constexpr const char* kWrittenModelForms = ".onnx, .safetensors or .spdnn";

/// The form that the name tells; nothing where it is no model's.
std::optional<ModelForm> model_form_of(const std::filesystem::path& path);
/// How a model of another program is brought into a form that is read, `; ...`, by the name of its file or directory;
/// empty where that is not known.
std::string conversion_hint(const std::filesystem::path& path);
/// Whether the name is one that models alone have: not that of a packed file.
bool names_model(const std::filesystem::path& path);
/// Whether the file is a model's: by its name, or where it is a packed file by what is in it. False where that cannot
/// be read; whoever reads the file then says why.
bool holds_model(const std::filesystem::path& path);

}  // namespace spdnn
