#include "program/epilogue.hpp"

#include "model/operations/functions.hpp"

namespace spdnn::program {

float function_of_library(Activation::Kind kind, float alpha, float x) {
  return rules::value_of_function(kind, alpha, x);
}

Epilogue::Epilogue(const Request& request) {
  std::size_t input = request.own_inputs();
  for (const Index number : request.step.fused) {
    const Node& node = request.model.nodes[number];
    Function function;
    if (const auto* const activation = std::get_if<Activation>(&node.operation)) {
      function.activation = *activation;
    } else if (const auto line = line_of(request.model, node)) {
      function.kind = Function::Kind::line;
      function.line = *line;
    } else {
      function.kind = Function::Kind::addition;
      function.input = input++;
    }
    functions_.push_back(std::move(function));
  }
}

void Epilogue::apply(float* results, std::size_t count, std::size_t first, const Operands& operands) const {
  for (const Function& function : functions_) {
    const auto each = [&](auto value_of) {
      for (std::size_t i = 0; i < count; ++i) results[i] = value_of(results[i], i);
    };
    switch (function.kind) {
      case Function::Kind::activation: {
        const Activation& activation = function.activation;
        if (activation.kind == Activation::Kind::relu)
          each([](float x, std::size_t) { return std::max(x, 0.F); });
        else
          each([&](float x, std::size_t) { return activated(activation, activation.alpha, x); });
        break;
      }
      case Function::Kind::line:
        each([line = function.line](float x, std::size_t) { return line.slope * x + line.offset; });
        break;
      case Function::Kind::addition:
        each([other = operands.floats(function.input) + first](float x, std::size_t i) { return x + other[i]; });
        break;
    }
  }
}

}  // namespace spdnn::program
