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

// The functions that read them.
#define SPDNN_OPERATOR(code, least, most, read) void read(OperatorReader& op);
#include "io/models/tflite/operators.def"
#undef SPDNN_OPERATOR

}  // namespace spdnn::tflite_reader
