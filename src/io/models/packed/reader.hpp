#pragma once

#include <filesystem>

#include "io/packed/file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// Reads the model of a packed file; all shapes are inferred. DataError if the file holds no model or is invalid.
Model read_packed_model(const std::filesystem::path& path);
/// The same for an open file.
Model read_packed_model(const PackedFile& file);
/// Whether the file holds a model. False if it cannot be read.
bool holds_packed_model(const std::filesystem::path& path);

}  // namespace spdnn
