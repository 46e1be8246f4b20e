#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model, whose shapes are known, as an ONNX file of operator set 17, or 19 where it has a mean over windows
/// with dilation; docs/onnx.md lists what becomes of each operation. What read_onnx() reads of it gives the same
/// outputs bit for bit where an engine computes the same of the same operations: names may differ, identities are left
/// out, and what is computed of constants alone is a constant. All numbers are fp32, with zeros in their places.
/// DataError where they take more than the 2 GiB of a protobuf file, or where an operation has no operator of ONNX.
void write_onnx(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
