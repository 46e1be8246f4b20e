#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace spdnn {

/// The formats of model files. A packed file may hold a network or images instead.
enum class ModelForm { onnx, tflite, safetensors, packed };

/// The file name endings of models that can be read, as listed in messages.
inline constexpr const char* kReadModelForms = ".onnx, .tflite, .safetensors or .spdnn";
/// The same for models that can be written.
inline constexpr const char* kWrittenModelForms = ".onnx, .safetensors or .spdnn";

/// The format given by the file name; empty if the name is not a model's.
std::optional<ModelForm> model_form_of(const std::filesystem::path& path);
/// A hint `; ...` on how to convert another program's model, chosen by the name of its file or directory; empty if
/// unknown.
std::string conversion_hint(const std::filesystem::path& path);
/// Whether only models have names like this one: false for packed files.
bool names_model(const std::filesystem::path& path);
/// Whether the file is a model, by its name or, for a packed file, by its contents. False if it cannot be read; the
/// actual reader then reports the error.
bool holds_model(const std::filesystem::path& path);

}  // namespace spdnn
