#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model, whose shapes are known, as read_safetensors() reads it: `path` and architecture_beside(path), which
/// are put in place together. Writers and readers of one directory wait for one another, so that the two always fit,
/// and the last writer wins. The architecture names the digest of the weights: where a writer is stopped between the
/// two, readers refuse them, and the next writer of the same path replaces them. DataError where the model has what the
/// format does not (architecture_of()), or where the architecture is there and `path` is not: it is another model's.
void write_safetensors(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
