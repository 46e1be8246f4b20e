#pragma once

#include <filesystem>
#include <string_view>

#include "io/input_file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Where the graph of a model in a .safetensors file is: `architecture.json` in the same directory.
std::filesystem::path architecture_beside(const std::filesystem::path& path);

/// The model of a .safetensors file and of architecture_beside(path), which docs/files.md describes;
/// all shapes are inferred. DataError, naming file and node, where the files are not sound or do not fit together, or
/// where something is not supported.
Model read_safetensors(const std::filesystem::path& path);

/// The same of files that are at hand. `place` is the architecture's name in messages.
Model read_safetensors(const InputFile& file, const std::filesystem::path& place, std::string_view architecture);

}  // namespace spdnn
