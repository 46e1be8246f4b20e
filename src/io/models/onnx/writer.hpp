#pragma once

#include <cstddef>
#include <filesystem>

#include "spdnn/model.hpp"

namespace spdnn {

/// Writes a model with known shapes as an ONNX file of operator set 17, or 19 if it has average pooling with dilation;
/// docs/onnx.md lists the operators used. Reading the file back with read_onnx() gives the same outputs bit for bit on
/// an engine that computes equal operations equally: names may differ, identities are dropped, and expressions of
/// constants are folded. All numbers are fp32, zeros included. DataError if they exceed the 2 GiB of a protobuf file,
/// or if an operation has no ONNX operator.
void write_onnx(const std::filesystem::path& path, const Model& model);
/// The same with the weights of convolutions and linear nodes as sparse initializers, without their zeros, where these
/// take fewer bytes. Few programs read them.
void write_sparse_onnx(const std::filesystem::path& path, const Model& model);

/// Bytes of the weights of convolutions and linear nodes in either file.
struct OnnxBytes {
  std::size_t dense = 0;
  std::size_t sparse = 0;
};
OnnxBytes onnx_bytes(const Model& model);

}  // namespace spdnn
