#include "model/oracle/evaluate.hpp"

#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include "core/threads/cancellation.hpp"
#include "core/types/all_finite.hpp"
#include "model/graph/node_text.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Whether a tensor has the shape of an input. `images`: the batch of the first such input, if any.
void require_input(const Value& value, const Tensor& tensor, Extent& images) {
  if (!value.shape.empty() && value.shape[0] == kBatchExtent && images == kBatchExtent && !tensor.shape.empty())
    images = tensor.shape[0];
  if (tensor.shape != with_batch(value.shape, images))
    throw UsageError("input \"" + value.name + "\" takes " + shape_text(value.shape) + ", not " +
                     shape_text(tensor.shape));
  if (elements(tensor.shape) != tensor.values.size())
    throw UsageError("input \"" + value.name + "\" has " + std::to_string(tensor.values.size()) + " values for " +
                     shape_text(tensor.shape));
}

/// Makes numbers that were rounded to whole ones exact. One that the rounding of an argument within its bound may make
/// another becomes the neighbour that `choice` says.
void decide(const Bounded& arguments, Undecided choice, Bounded& rounded) {
  for (std::size_t i = 0; i < rounded.values.size(); ++i) {
    double& number = rounded.values[i];
    const double bound = std::exchange(rounded.bounds[i], 0);
    if (bound == 0) continue;
    const double below = std::nearbyint(arguments.values[i] - arguments.bounds[i]) < number ? number - 1 : number;
    const double above = std::nearbyint(arguments.values[i] + arguments.bounds[i]) > number ? number + 1 : number;
    if (choice == Undecided::other)
      number = below < number ? below : above;
    else
      number = choice == Undecided::below ? below : above;
  }
}

}  // namespace

Bounded exactly(const Tensor& tensor) {
  Bounded result;
  result.shape = tensor.shape;
  result.values.assign(tensor.values.begin(), tensor.values.end());
  result.bounds.assign(result.values.size(), 0.0);
  return result;
}

std::vector<Bounded> evaluate_nodes(const Model& model, const std::vector<Tensor>& inputs,
                                    const std::function<bool()>& cancelled, const TakeNode& take) {
  if (inputs.size() != model.inputs.size())
    throw UsageError("the model takes " + std::to_string(model.inputs.size()) + " inputs, not " +
                     std::to_string(inputs.size()));
  std::vector<std::size_t> readers(model.values.size());
  for (const Node& node : model.nodes)
    for (const ValueId id : node.inputs) ++readers[id];
  for (const ValueId id : model.outputs) ++readers[id];

  std::vector<std::optional<Bounded>> values(model.values.size());
  for (std::size_t id = 0; id < model.values.size(); ++id)
    if (model.values[id].constant) values[id] = exactly(*model.values[id].constant);
  Extent images = kBatchExtent;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    require_input(model.values[model.inputs[i]], inputs[i], images);
    values[model.inputs[i]] = exactly(inputs[i]);
  }
  Cancellation cancellation(cancelled);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    cancellation.check();
    const Node& node = model.nodes[n];
    std::vector<const Bounded*> read;
    for (const ValueId id : node.inputs) read.push_back(&*values[id]);
    try {
      values[node.output] = evaluate(node.operation, read);
    } catch (const UsageError& error) {
      throw UsageError(node_text(model, n) + ": " + error.what());
    }
    take(n, read, *values[node.output]);
    for (const ValueId id : node.inputs)
      if (--readers[id] == 0) values[id].reset();
    if (readers[node.output] == 0) values[node.output].reset();
  }
  std::vector<Bounded> outputs;
  for (const ValueId id : model.outputs) outputs.push_back(*values[id]);
  return outputs;
}

std::vector<Bounded> evaluate(const Model& model, const std::vector<Tensor>& inputs,
                              const std::function<bool()>& cancelled, std::optional<Index>* overflow) {
  return evaluate_nodes(model, inputs, cancelled, [&](std::size_t n, const auto& /*read*/, const Bounded& value) {
    if (overflow != nullptr && !*overflow && !all_finite(value.values)) *overflow = static_cast<Index>(n);
  });
}

std::vector<Bounded> evaluate_rounded(const Model& model, const std::vector<Tensor>& inputs,
                                      const std::function<bool()>& cancelled) {
  return evaluate_nodes(model, inputs, cancelled, [](std::size_t, const auto& /*read*/, Bounded& value) {
    for (double& number : value.values) number = static_cast<float>(number);
  });
}

std::vector<Bounded> evaluate_decided(const Model& model, const std::vector<Tensor>& inputs, Undecided choice,
                                      const std::function<bool()>& cancelled) {
  return evaluate_nodes(model, inputs, cancelled, [&](std::size_t n, const auto& read, Bounded& value) {
    const auto* const function = std::get_if<Activation>(&model.nodes[n].operation);
    if (function != nullptr && function->kind == Activation::Kind::round) decide(*read[0], choice, value);
  });
}

double largest_ratio(const Bounded& expected, std::span<const float> found) {
  if (found.size() != expected.values.size())
    throw UsageError(std::to_string(found.size()) + " values stand against " + std::to_string(expected.values.size()));
  double largest = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const double off = std::abs(double{found[i]} - expected.values[i]);
    const double ratio = off == 0 ? 0 : off / expected.bounds[i];
    if (!(ratio <= largest)) largest = std::isnan(ratio) ? std::numeric_limits<double>::infinity() : ratio;
  }
  return largest;
}

}  // namespace spdnn
