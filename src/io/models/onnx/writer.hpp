#pragma once

#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model with known shapes as an ONNX file of operator set 17, or 19 if it has average pooling with dilation;
/// docs/onnx.md lists the operators used. Reading the file back with read_onnx() gives the same outputs bit for bit on
/// an engine that computes equal operations equally: names may differ, identities are dropped, and expressions of
/// constants are folded. All numbers are fp32, zeros included. DataError if they exceed the 2 GiB of a protobuf file,
/// or if an operation has no ONNX operator.
void write_onnx(const std::filesystem::path& path, const Model& model);

}  // namespace spdnn
