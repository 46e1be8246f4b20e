#pragma once

#include <filesystem>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn {

/// Whether a model can be written to a file of this name.
bool is_model_form(const std::filesystem::path& path);
/// Writes a model, whose shapes are known, in the form that the name tells. DataError where the form cannot hold it.
void write_model(const std::filesystem::path& path, const Model& model);
/// The files beside this one that belong to the same model: that of its graph, where the form has one.
std::vector<std::filesystem::path> files_beside(const std::filesystem::path& path);

}  // namespace spdnn
