#pragma once

// The part of NVIDIA's cuSPARSELt that products with 2:4 sparse matrices need. The library is opened when it is first
// needed; its headers are not needed.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/types.hpp"

struct CUstream_st;  // of CUDA

namespace spdnn::cuda::cusparselt {

/// "cuSPARSELt 0.8.1". DeviceError, in one line, if there is no library, or one of a version that is not known.
std::string version();

/// Y = X W^T: X is pixels x columns, W filters x columns and sparse, Y pixels x filters, all row-major with elements of
/// 16 bits, fp16 or bf16; sums are fp32.
struct ProductShape {
  Index filters = 0;  ///< a multiple of kFiltersTogether
  Index columns = 0;  ///< a multiple of kColumnsTogether
  Index pixels = 0;   ///< a multiple of kPixelsTogether
  Precision precision = Precision::fp16;
};

struct Descriptors;

/// Ways of computing a product that are tried, from 0. Of the 52 of version 0.8.0 numbers 36 to 51 end with an illegal
/// instruction on an H200, after which the process has no device, and trying the first 36 took over ten seconds a
/// layer.
inline constexpr int kAlgorithms = 9;

/// A product that is ready to be computed, in one way.
class Plan {
 public:
  Plan(std::shared_ptr<const Descriptors> of, int algorithm);
  std::size_t workspace_bytes() const;
  /// Whether cuSPARSELt took it. `w` is compressed.
  bool run(const void* x, const void* w, void* workspace, void* y, CUstream_st* stream) const;

 private:
  struct State;
  std::shared_ptr<const State> state_;
};

/// A product, on the current device.
class Product {
 public:
  /// DeviceError as of version(), or if cuSPARSELt does not support the shape.
  explicit Product(const ProductShape& shape);

  /// DeviceError if the library does not support it.
  Plan plan(int algorithm) const { return {descriptors_, algorithm}; }
  /// W as run() takes it, by the device. Of each four neighbours at most two may be non-zeros.
  std::vector<std::byte> compressed(const std::vector<std::uint16_t>& weights) const;

 private:
  std::shared_ptr<const Descriptors> descriptors_;
};

}  // namespace spdnn::cuda::cusparselt
