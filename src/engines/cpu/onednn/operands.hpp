#pragma once

#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "engines/cpu/onednn/forms.hpp"
#include "program/kernel.hpp"

namespace spdnn::onednn {

/// oneDNN's types of the operands of a node with weights, and the weights.
struct Operands {
  dnnl::memory::data_type source;
  dnnl::memory::data_type weights;
  dnnl::memory::data_type result;
  std::function<std::vector<float>(Index first_row, Index end_row)> dense_weights;
  std::vector<float> scales{};  ///< of sums in int8, by row
  double speed = 1;             ///< in multiply-adds, times that of fp32
};

Operands in_type(program::ElementType of, const CsrMatrix& weights);

/// The operands in int8; the reason why not; or neither, if the input is not quantised.
std::variant<std::monostate, std::string, Operands> in_bytes(const program::Request& request, const CsrMatrix& weights,
                                                             const std::vector<float>& bias);

}  // namespace spdnn::onednn
