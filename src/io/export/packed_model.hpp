#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model, whose shapes are known, as a packed file: its architecture and its tensors (io/packed/format.hpp).
/// DataError where the model has what an architecture does not (architecture_of()).
void write_packed_model(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
