#pragma once

#include <filesystem>
#include <string_view>

#include "io/files/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The path of the graph for a .safetensors file: `architecture.json` in the same directory.
std::filesystem::path architecture_beside(const std::filesystem::path& path);

/// Reads the model of a .safetensors file and architecture_beside(path) (docs/files.md); all shapes are inferred. A
/// DataError that names file and node reports files that are invalid or do not match, or an unsupported feature.
Model read_safetensors(const std::filesystem::path& path);

/// The same for opened files. `place` is the architecture's name in messages.
Model read_safetensors(const InputFile& file, const std::filesystem::path& place, std::string_view architecture);

}  // namespace spdnn
