#include "program/epilogue.hpp"

#include <limits>

#include "model/operations/functions.hpp"
#include "program/predict.hpp"

namespace spdnn::program {

namespace {

/// None if a kernel does not have it for its sums.
SumFunction sum_function_of(const Activation& activation) {
  using Kind = Activation::Kind;
  switch (activation.kind) {
    case Kind::relu:
      return {.kind = SumFunction::Kind::limits, .high = std::numeric_limits<float>::infinity()};
    case Kind::clip:
      return {.kind = SumFunction::Kind::limits, .low = activation.low, .high = activation.high};
    case Kind::leaky_relu:
      return {.kind = SumFunction::Kind::leaky_relu, .slope = activation.alpha};
    case Kind::hard_swish:
      return {.kind = SumFunction::Kind::hard_swish};
    default:
      return {};
  }
}

}  // namespace

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

std::size_t Epilogue::done_with_sums(bool adds) const {
  std::size_t done = 0;
  const auto is = [&](Function::Kind kind) { return done < functions_.size() && functions_[done].kind == kind; };
  const auto take_function = [&] {
    if (is(Function::Kind::activation) && sum_function_of(functions_[done].activation).kind != SumFunction::Kind::none)
      ++done;
  };
  take_function();
  if (!adds || !is(Function::Kind::addition)) return done;
  ++done;
  take_function();
  return done;
}

Ending Epilogue::ending(const Operands& operands, bool adds) const {
  Ending ending;
  const std::size_t done = done_with_sums(adds);
  for (std::size_t i = 0; i < done; ++i) {
    const Function& function = functions_[i];
    if (function.kind == Function::Kind::addition)
      ending.added = operands.floats(function.input);
    else
      (ending.added == nullptr ? ending.function : ending.after_addition) = sum_function_of(function.activation);
  }
  if (done < functions_.size())
    ending.finish = [this, done, &operands](float* results, std::size_t count) {
      apply_from(done, results, count, static_cast<std::size_t>(results - operands.results()), operands);
    };
  return ending;
}

double Epilogue::finish_seconds(bool adds, std::size_t results, int threads) const {
  const auto passes = static_cast<double>(functions_.size() - done_with_sums(adds));
  return passes * static_cast<double>(2 * sizeof(float) * results) / (kBytesPerSecond * threads);
}

void Epilogue::apply_from(std::size_t number, float* results, std::size_t count, std::size_t first,
                          const Operands& operands) const {
  for (; number < functions_.size(); ++number) {
    const Function& function = functions_[number];
    const auto each = [&](auto value_of) {
      for (std::size_t i = 0; i < count; ++i) results[i] = value_of(results[i], i);
    };
    switch (function.kind) {
      case Function::Kind::activation:
        with_function(function.activation, function.activation.alpha,
                      [&](auto value_of) { each([value_of](float x, std::size_t) { return value_of(x); }); });
        break;
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
