#pragma once

#include <string>
#include <string_view>

#include "io/models/tflite/operator.hpp"

namespace spdnn::tflite_reader {

/// A supported operator of TensorFlow Lite.
struct Operator {
  tflite::BuiltinOperator code;
  std::string_view custom;  ///< the name, if the code is CUSTOM
  std::size_t least_inputs;
  std::size_t most_inputs;
  void (*read)(OperatorReader&);
};

/// nullptr if the operator is not supported. `custom` is the name of a custom one.
const Operator* find_operator(tflite::BuiltinOperator code, std::string_view custom);
/// Their names, as listed in messages.
std::string operator_names();

// The functions that read them.
#define SPDNN_OPERATOR(code, least, most, read) void read(OperatorReader& op);
#define SPDNN_CUSTOM(name, least, most, read) void read(OperatorReader& op);
#include "io/models/tflite/operators.def"
#undef SPDNN_OPERATOR

}  // namespace spdnn::tflite_reader
