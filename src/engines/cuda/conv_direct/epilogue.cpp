#include "engines/cuda/conv_direct/epilogue.hpp"

#include <algorithm>
#include <limits>

#include "engines/cuda/conv_direct/kernels.hpp"

namespace spdnn::cuda {

std::optional<Function> function_of(const Activation& activation) {
  using Kind = Function::Kind;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  switch (activation.kind) {
    case Activation::Kind::relu:
      return Function{Kind::clip, 0, kInfinity};
    case Activation::Kind::clip:
      return Function{Kind::clip, activation.low, activation.high};
    case Activation::Kind::leaky_relu:
      return Function{Kind::leaky, activation.alpha};
    case Activation::Kind::sigmoid:
      return Function{Kind::sigmoid};
    case Activation::Kind::tanh:
      return Function{Kind::tanh};
    case Activation::Kind::hard_sigmoid:
      return Function{Kind::hard_sigmoid, activation.alpha, activation.beta};
    case Activation::Kind::hard_swish:
      return Function{Kind::hard_swish};
    case Activation::Kind::identity:
      return Function{Kind::line, 1, 0};
    default:
      return std::nullopt;
  }
}

std::optional<std::vector<Function>> fused_functions(const program::Request& request) {
  std::vector<Function> functions;
  std::size_t input = request.own_inputs();
  for (const Index number : request.step.fused) {
    const Node& node = request.model.nodes[number];
    if (const auto* const activation = std::get_if<Activation>(&node.operation)) {
      const std::optional<Function> function = function_of(*activation);
      if (!function) return std::nullopt;
      functions.push_back(*function);
    } else if (const auto line = line_of(request.model, node)) {
      functions.push_back({Function::Kind::line, line->slope, line->offset});
    } else {
      if (!has_images(request, input) || request.inputs[input].shape != request.output_shape()) return std::nullopt;
      functions.push_back({Function::Kind::addition});
      ++input;
    }
  }
  if (functions.size() > kMostFunctions) return std::nullopt;
  return functions;
}

Functions with_operands(std::vector<Function> functions, std::size_t own_inputs, const program::Operands& at) {
  Functions all;
  for (Function& function : functions) {
    if (function.kind == Function::Kind::addition) function.other = at.floats(own_inputs++);
    all.all[all.count++] = function;
  }
  return all;
}

}  // namespace spdnn::cuda
