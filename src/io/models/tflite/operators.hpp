#pragma once

#include <string>

#include "io/models/tflite/operator.hpp"

namespace spdnn::tflite_reader {

/// A supported operator of TensorFlow Lite.
struct Operator {
  tflite::BuiltinOperator code;
  std::size_t least_inputs;
  std::size_t most_inputs;
  void (*read)(OperatorReader&);
};

/// nullptr if the operator is not supported.
const Operator* find_operator(tflite::BuiltinOperator code);
/// Their names, as listed in messages.
std::string operator_names();

// convolution.cpp
void read_conv(OperatorReader& op);
void read_depthwise_conv(OperatorReader& op);
void read_max_pool(OperatorReader& op);
void read_average_pool(OperatorReader& op);
void read_mean(OperatorReader& op);
void read_fully_connected(OperatorReader& op);
// elements.cpp
void read_add(OperatorReader& op);
void read_sub(OperatorReader& op);
void read_mul(OperatorReader& op);
void read_relu(OperatorReader& op);
void read_relu6(OperatorReader& op);
void read_relu_n1_to_1(OperatorReader& op);
void read_prelu(OperatorReader& op);
void read_logistic(OperatorReader& op);
void read_hard_swish(OperatorReader& op);
void read_softmax(OperatorReader& op);
void read_dequantize(OperatorReader& op);
void read_densify(OperatorReader& op);
// shapes.cpp
void read_concatenation(OperatorReader& op);
void read_pad(OperatorReader& op);
void read_reshape(OperatorReader& op);
void read_resize_bilinear(OperatorReader& op);
void read_resize_nearest_neighbor(OperatorReader& op);
void read_depth_to_space(OperatorReader& op);

}  // namespace spdnn::tflite_reader
