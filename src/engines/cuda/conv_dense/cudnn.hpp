#pragma once

// The part of NVIDIA's cuDNN 8 and 9 that dense convolutions need, which is equal in both. The library is opened when a
// convolution is first made; its headers are not needed.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "model/operations/geometry.hpp"
#include "spdnn/outcome.hpp"

struct CUstream_st;  // of CUDA
struct cudnnContext;
struct cudnnTensorStruct;
struct cudnnFilterStruct;
struct cudnnConvolutionStruct;

namespace spdnn::cuda::cudnn {

/// How images and filters lie in memory; the numbers are cuDNN's, here and below.
enum class Format { nchw = 0, nhwc = 1 };

/// Ways of computing a convolution, from 0.
inline constexpr int kAlgorithms = 8;
std::string algorithm_name(int algorithm);

/// "cuDNN 9.19.0". DeviceError, in one line, if there is no library, or one of a version that is not known.
std::string version();

/// A convolution, on the current device.
class Convolution {
 public:
  /// fp32: by fused multiply-add alone; tf32: tensor cores may round its factors to 11 bits; fp16, bf16: images,
  /// filters and results are of that type, sums are fp32. DeviceError as of version(), or if cuDNN does not support the
  /// shape.
  Convolution(const ConvolutionShape& shape, Format format, Precision precision);

  /// Bytes of memory that an algorithm needs besides its operands; empty if it does not support this convolution.
  std::optional<std::size_t> workspace_bytes(int algorithm) const;
  /// Whether cuDNN took it: y = the convolution of x by the filters w, on a stream.
  bool run(int algorithm, const void* x, const void* w, void* workspace, std::size_t bytes, void* y,
           CUstream_st* stream) const;
  /// Adds a number for each channel to y, of the type of y.
  void add_bias(const void* bias, void* y, CUstream_st* stream) const;

 private:
  std::shared_ptr<cudnnContext> context_;
  std::shared_ptr<cudnnTensorStruct> x_, y_, bias_;
  std::shared_ptr<cudnnFilterStruct> filters_;
  std::shared_ptr<cudnnConvolutionStruct> convolution_;
};

}  // namespace spdnn::cuda::cudnn
