#include "program/overflow_guard.hpp"

#include <algorithm>

namespace spdnn::program {

OverflowGuard::OverflowGuard(const Model& model, const Magnitudes& magnitudes)
    : model_(model), magnitudes_(magnitudes), largest_(model.values.size()) {
  largest_[model.inputs.front()] = kLargestTrusted;
  for (std::size_t id = 0; id < largest_.size(); ++id)
    if (model.values[id].constant) largest_[id] = magnitude_of(*model.values[id].constant);
}

/// The largest intermediate result of the step; records the bounds of its values.
double OverflowGuard::largest_in(const Step& step) {
  double largest = 0;
  const auto take = [&](Index number) {
    const Node& node = model_.nodes[number];
    std::vector<double> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(largest_[input]);
    const Magnitude magnitude = magnitudes_.of(number, inputs);
    largest = std::max(largest, magnitude.inside);
    largest_[node.output] = magnitude.result;
  };
  take(step.node);
  for (const Index node : step.fused) take(node);
  return largest;
}

/// In models of many layers the bounds exceed all numbers. Before that, a step's inputs are checked, and bounds start
/// over. If even small inputs leave too little room because weights are huge, nothing is proved.
std::vector<OverflowGuard::Look> OverflowGuard::before(const Step& step, const std::function<bool(ValueId)>& there) {
  constexpr double kFewer = 0x1p-20;
  std::vector<ValueId> lowered;
  double limit = kLargestTrusted;
  for (; !(largest_in(step) <= kLargestSafe) && limit >= 1; limit *= kFewer) {
    lowered.clear();
    const auto lower = [&](Index number) {
      for (const ValueId input : model_.nodes[number].inputs) {
        if (!there(input) || model_.values[input].constant || largest_[input] < limit) continue;
        largest_[input] = limit;
        lowered.push_back(input);
      }
    };
    lower(step.node);
    for (const Index node : step.fused) lower(node);
  }
  std::vector<Look> looks;
  looks.reserve(lowered.size());
  for (const ValueId input : lowered) looks.push_back({input, largest_[input]});
  if (!(largest_in(step) <= kLargestSafe) && !unproven_) unproven_ = step.node;
  return looks;
}

/// Quotients are unbounded: the result of a step is checked, unless a fused operation limits it, as that of quantised
/// values does.
std::optional<OverflowGuard::Look> OverflowGuard::after(const Step& step) {
  const ValueId output = model_.nodes[step.last()].output;
  if (largest_[output] <= kLargestSafe) return std::nullopt;
  largest_[output] = kLargestTrusted;
  return Look{output, kLargestTrusted};
}

}  // namespace spdnn::program
