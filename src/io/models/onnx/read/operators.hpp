#pragma once

#include <string>
#include <string_view>

#include "io/models/onnx/read/node.hpp"

namespace spdnn::onnx_reader {

/// An ONNX operator supported in the operator sets `first` to `last`.
struct Operator {
  std::string_view name;
  int first;
  int last;
  std::size_t least_inputs;
  std::size_t most_inputs;
  void (*read)(NodeReader&);
};

inline constexpr int kFirstOpset = 1;
inline constexpr int kLastOpset = 21;

/// nullptr if no operator of that name is supported.
const Operator* find_operator(std::string_view name);
/// Their names, as listed in messages.
std::string operator_names();

// convolution.cpp
void read_conv(NodeReader& node);
void read_max_pool(NodeReader& node);
void read_average_pool(NodeReader& node);
void read_global_max_pool(NodeReader& node);
void read_global_average_pool(NodeReader& node);
// transposed_convolution.cpp
void read_conv_transpose(NodeReader& node);
// reduce.cpp
void read_reduce_mean(NodeReader& node);
// linear.cpp
void read_gemm(NodeReader& node);
void read_matmul(NodeReader& node);
// elements.cpp
void read_batch_normalization(NodeReader& node);
void read_relu(NodeReader& node);
void read_clip(NodeReader& node);
void read_leaky_relu(NodeReader& node);
void read_prelu(NodeReader& node);
void read_sigmoid(NodeReader& node);
void read_tanh(NodeReader& node);
void read_hard_sigmoid(NodeReader& node);
void read_hard_swish(NodeReader& node);
void read_softmax(NodeReader& node);
// arithmetic.cpp
void read_add(NodeReader& node);
void read_sub(NodeReader& node);
void read_mul(NodeReader& node);
void read_div(NodeReader& node);
void read_concat(NodeReader& node);
// shapes.cpp
void read_flatten(NodeReader& node);
void read_reshape(NodeReader& node);
void read_squeeze(NodeReader& node);
void read_unsqueeze(NodeReader& node);
void read_transpose(NodeReader& node);
void read_identity(NodeReader& node);
void read_dropout(NodeReader& node);
// resize.cpp
void read_pad(NodeReader& node);
void read_resize(NodeReader& node);
void read_upsample(NodeReader& node);
// constants.cpp
void read_constant(NodeReader& node);
void read_cast(NodeReader& node);
void read_shape(NodeReader& node);
void read_gather(NodeReader& node);
void read_slice(NodeReader& node);

}  // namespace spdnn::onnx_reader
