#pragma once

#include "cli/options.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model.hpp"

namespace spdnn::cli {

/// Does what --to asks for, and says what that changed.
void change_weights(const Path& out, const po::variables_map& values, Model& model);

}  // namespace spdnn::cli
