#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model with known shapes as a packed file: its architecture and its tensors (io/packed/format.hpp).
/// DataError if an architecture cannot express the model (architecture_of()).
void write_packed_model(const std::filesystem::path& path, const Model& model);

/// The model as reading its packed file would give it: the same but for names and for the numbers of its values, which
/// Model::program depends on.
Model as_packed(const Model& model);

}  // namespace spdnn
