#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn::toy {

/// A format for models of one linear node without a bias, as text: the numbers of outputs and inputs, then the weights,
/// a line per output.
Model read_linear_text(const std::filesystem::path& path);
void write_linear_text(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn::toy
