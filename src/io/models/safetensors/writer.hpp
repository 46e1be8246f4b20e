#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model with known shapes in the form that read_safetensors() reads: `path` and architecture_beside(path),
/// put in place together. Writers and readers of one directory wait for one another, so that the two always match, and
/// the last writer wins. The architecture stores the digest of the weights: if a writer is stopped between the two,
/// readers refuse the pair, and the next writer of the same path replaces it. DataError if the format cannot express
/// the model (architecture_of()), or if the architecture exists and `path` does not: it belongs to another model.
void write_safetensors(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
