#pragma once

#include <filesystem>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Whether a model can be written to a file of this name.
bool is_model_form(const std::filesystem::path& path);
/// Writes a model with known shapes in the format given by the file name. DataError if the format cannot express it.
void write_model(const std::filesystem::path& path, const Model& model);
/// The other files of the same model: its graph, if the format keeps it in a file of its own.
std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path);

}  // namespace spdnn
