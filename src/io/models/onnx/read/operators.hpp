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

// The functions that read them.
#define SPDNN_OPERATOR(name, first, last, least, most, read) void read(NodeReader& node);
#include "io/models/onnx/read/operators.def"
#undef SPDNN_OPERATOR

}  // namespace spdnn::onnx_reader
