#include "io/models/onnx/read/operators.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

namespace spdnn::onnx_reader {

namespace {

constexpr std::size_t kAny = 1U << 20U;

// Attributes that exist only in some sets are refused by name if a node has them and its reader does not read them. A
// row therefore gives only the sets in which the rest has the meaning that the reader assumes.
constexpr std::array kOperators{
    Operator{"Add", 6, kLastOpset, 2, 2, read_add},
    Operator{"AveragePool", 1, kLastOpset, 1, 1, read_average_pool},
    Operator{"BatchNormalization", 6, kLastOpset, 5, 5, read_batch_normalization},
    Operator{"Cast", 6, kLastOpset, 1, 1, read_cast},
    Operator{"Clip", 6, kLastOpset, 1, 3, read_clip},
    Operator{"Concat", 4, kLastOpset, 1, kAny, read_concat},
    Operator{"Constant", 1, kLastOpset, 0, 0, read_constant},
    Operator{"Conv", 1, kLastOpset, 2, 3, read_conv},
    Operator{"ConvTranspose", 1, kLastOpset, 2, 3, read_conv_transpose},
    Operator{"Div", 6, kLastOpset, 2, 2, read_div},
    Operator{"Dropout", 6, kLastOpset, 1, 3, read_dropout},
    Operator{"Flatten", 1, kLastOpset, 1, 1, read_flatten},
    Operator{"Gather", 1, kLastOpset, 2, 2, read_gather},
    Operator{"Gemm", 6, kLastOpset, 2, 3, read_gemm},
    Operator{"GlobalAveragePool", 1, kLastOpset, 1, 1, read_global_average_pool},
    Operator{"GlobalMaxPool", 1, kLastOpset, 1, 1, read_global_max_pool},
    Operator{"HardSigmoid", 6, kLastOpset, 1, 1, read_hard_sigmoid},
    Operator{"HardSwish", 14, kLastOpset, 1, 1, read_hard_swish},
    Operator{"Identity", 1, kLastOpset, 1, 1, read_identity},
    Operator{"LeakyRelu", 6, kLastOpset, 1, 1, read_leaky_relu},
    Operator{"MatMul", 1, kLastOpset, 2, 2, read_matmul},
    Operator{"MaxPool", 1, kLastOpset, 1, 1, read_max_pool},
    Operator{"Mul", 6, kLastOpset, 2, 2, read_mul},
    Operator{"PRelu", 6, kLastOpset, 2, 2, read_prelu},
    Operator{"Pad", 2, kLastOpset, 1, 4, read_pad},
    Operator{"ReduceMean", 1, kLastOpset, 1, 2, read_reduce_mean},
    Operator{"Relu", 6, kLastOpset, 1, 1, read_relu},
    Operator{"Reshape", 5, kLastOpset, 2, 2, read_reshape},
    Operator{"Resize", 10, kLastOpset, 1, 4, read_resize},
    Operator{"Shape", 1, kLastOpset, 1, 1, read_shape},
    Operator{"Sigmoid", 6, kLastOpset, 1, 1, read_sigmoid},
    Operator{"Slice", 1, kLastOpset, 1, 5, read_slice},
    Operator{"Softmax", 1, kLastOpset, 1, 1, read_softmax},
    Operator{"Squeeze", 1, kLastOpset, 1, 2, read_squeeze},
    Operator{"Sub", 6, kLastOpset, 2, 2, read_sub},
    Operator{"Tanh", 6, kLastOpset, 1, 1, read_tanh},
    Operator{"Transpose", 1, kLastOpset, 1, 1, read_transpose},
    Operator{"Unsqueeze", 1, kLastOpset, 1, 2, read_unsqueeze},
    Operator{"Upsample", 7, 9, 1, 2, read_upsample},
};

}  // namespace

const Operator* find_operator(std::string_view name) {
  const auto* found =
      std::find_if(kOperators.begin(), kOperators.end(), [&](const Operator& one) { return one.name == name; });
  return found == kOperators.end() ? nullptr : found;
}

std::string operator_names() {
  std::array<std::string_view, kOperators.size()> names;
  std::transform(kOperators.begin(), kOperators.end(), names.begin(), [](const Operator& one) { return one.name; });
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace spdnn::onnx_reader
