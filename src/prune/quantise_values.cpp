#include "prune/quantise_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

namespace spdnn {

namespace {

/// Adds the nodes that round one value.
class Rounding {
 public:
  Rounding(Model& model, std::vector<Node>& nodes, ValueId value)
      : model_(model), nodes_(nodes), name_(model.values[value].name), value_(value) {}

  /// The rounded value.
  ValueId add(float scale, float low, float high) {
    const ValueId by = new_value("scale");
    model_.values[by].constant = Tensor{{}, std::vector<float>{scale}};
    step("divided", Elementwise{Elementwise::Kind::divide}, {value_, by});
    step("rounded", Activation{.kind = Activation::Kind::round}, {value_});
    step("whole", Activation{.kind = Activation::Kind::clip, .low = low, .high = high}, {value_});
    step("quantised", Elementwise{Elementwise::Kind::multiply}, {value_, by});
    return value_;
  }

 private:
  ValueId new_value(const char* what) {
    model_.values.push_back({.name = fmt::format("{}.{}", name_, what), .shape = {}, .constant = {}});
    return static_cast<ValueId>(model_.values.size() - 1);
  }
  void step(const char* what, Operation operation, std::vector<ValueId> inputs) {
    value_ = new_value(what);
    nodes_.push_back({model_.values[value_].name, std::move(operation), std::move(inputs), value_});
  }

  Model& model_;
  std::vector<Node>& nodes_;
  std::string name_;
  ValueId value_;
};

}  // namespace

std::size_t quantise_values(Model& model, const std::map<ValueId, ValueRange>& ranges) {
  constexpr float kLargestByte = 255;
  constexpr float kLargestSigned = 127;
  std::vector<Node> given = std::exchange(model.nodes, {});
  std::vector<Node> nodes;
  std::map<ValueId, ValueId> rounded;
  for (Node& node : given) {
    if (weights_or_null(node.operation) != nullptr) {
      ValueId& input = node.inputs.front();
      const auto range = ranges.find(input);
      const auto [low, high] = range == ranges.end() ? ValueRange{} : range->second;
      const float scale = low >= 0 ? high / kLargestByte : std::max(-low, high) / kLargestSigned;
      if (scale > 0 && !rounded.contains(input)) {
        Rounding rounding(model, nodes, input);
        rounded[input] =
            low >= 0 ? rounding.add(scale, 0, kLargestByte) : rounding.add(scale, -kLargestSigned - 1, kLargestSigned);
      }
      if (const auto found = rounded.find(input); found != rounded.end()) input = found->second;
    }
    nodes.push_back(std::move(node));
  }
  model.nodes = std::move(nodes);
  infer_shapes(model);
  return rounded.size();
}

}  // namespace spdnn
