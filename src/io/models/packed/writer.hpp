#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model with known shapes as a packed file: its architecture and its tensors (io/packed/format.hpp).
/// DataError if an architecture cannot express the model (architecture_of()).
void write_packed_model(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
