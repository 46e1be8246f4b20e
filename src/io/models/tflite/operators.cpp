#include "io/models/tflite/operators.hpp"

#include <algorithm>
#include <array>

namespace spdnn::tflite_reader {

namespace {

using Code = tflite::BuiltinOperator;

constexpr std::size_t kAny = 1U << 20U;

constexpr std::array kOperators{
    Operator{Code::ADD, 2, 2, read_add},
    Operator{Code::AVERAGE_POOL_2D, 1, 1, read_average_pool},
    Operator{Code::CONCATENATION, 1, kAny, read_concatenation},
    Operator{Code::CONV_2D, 2, 3, read_conv},
    Operator{Code::DENSIFY, 1, 1, read_densify},
    Operator{Code::DEPTHWISE_CONV_2D, 2, 3, read_depthwise_conv},
    Operator{Code::DEPTH_TO_SPACE, 1, 1, read_depth_to_space},
    Operator{Code::DEQUANTIZE, 1, 1, read_dequantize},
    Operator{Code::FULLY_CONNECTED, 2, 3, read_fully_connected},
    Operator{Code::HARD_SWISH, 1, 1, read_hard_swish},
    Operator{Code::LOGISTIC, 1, 1, read_logistic},
    Operator{Code::MAX_POOL_2D, 1, 1, read_max_pool},
    Operator{Code::MEAN, 2, 2, read_mean},
    Operator{Code::MUL, 2, 2, read_mul},
    Operator{Code::PAD, 2, 2, read_pad},
    Operator{Code::PRELU, 2, 2, read_prelu},
    Operator{Code::RELU, 1, 1, read_relu},
    Operator{Code::RELU6, 1, 1, read_relu6},
    Operator{Code::RELU_N1_TO_1, 1, 1, read_relu_n1_to_1},
    Operator{Code::RESHAPE, 1, 2, read_reshape},
    Operator{Code::RESIZE_BILINEAR, 2, 2, read_resize_bilinear},
    Operator{Code::RESIZE_NEAREST_NEIGHBOR, 2, 2, read_resize_nearest_neighbor},
    Operator{Code::SOFTMAX, 1, 1, read_softmax},
    Operator{Code::SUB, 2, 2, read_sub},
};

}  // namespace

const Operator* find_operator(tflite::BuiltinOperator code) {
  const auto* found =
      std::find_if(kOperators.begin(), kOperators.end(), [&](const Operator& one) { return one.code == code; });
  return found == kOperators.end() ? nullptr : found;
}

std::string operator_names() {
  std::string names;
  for (const Operator& one : kOperators) {
    if (!names.empty()) names += ", ";
    names += tflite::EnumNameBuiltinOperator(one.code);
  }
  return names;
}

}  // namespace spdnn::tflite_reader
