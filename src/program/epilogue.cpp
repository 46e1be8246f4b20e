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
  apply_from(0, results, count, first, operands);
}

Ending Epilogue::ending(const Operands& operands) const {
  using Kind = Activation::Kind;
  Ending ending;
  std::size_t next = 0;
  if (!functions_.empty() && functions_[0].kind == Function::Kind::activation) {
    const Activation& activation = functions_[0].activation;
    const bool limits = activation.kind == Kind::relu || activation.kind == Kind::clip;
    if (activation.kind == Kind::relu) ending.low = 0;
    if (activation.kind == Kind::clip) {
      ending.low = activation.low;
      ending.high = activation.high;
    }
    if (limits) next = 1;
  }
  if (next < functions_.size())
    ending.finish = [this, next, &operands](float* results, std::size_t count) {
      apply_from(next, results, count, static_cast<std::size_t>(results - operands.results()), operands);
    };
  return ending;
}

void Epilogue::apply_from(std::size_t number, float* results, std::size_t count, std::size_t first,
                          const Operands& operands) const {
  for (; number < functions_.size(); ++number) {
    const Function& function = functions_[number];
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
