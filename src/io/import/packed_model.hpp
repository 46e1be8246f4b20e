#pragma once

#include <filesystem>

#include "io/packed/file.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

/// The model of a packed file; all shapes are inferred. DataError where the file holds none or is not sound.
Model read_packed_model(const std::filesystem::path& path);
/// The same of a file that is open.
Model read_packed_model(const PackedFile& file);

}  // namespace spdnn
