#pragma once

#include <filesystem>

#include "inference/prune/prune_model.hpp"

namespace spdnn {

/// Reads shares of zeros: a line for each node that is to be pruned, its name or its number from 1, a blank, and its
/// share in [0, 1). Empty lines, and lines that begin with #, are skipped. DataError with the line if a node does not
/// exist, has no weights or is named twice, if several have the name, or if there is no node at all.
Shares read_shares(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
