#include "program/steps.hpp"

#include <algorithm>
#include <utility>

#include "model/graph/quantised.hpp"
#include "model/graph/uses.hpp"

namespace spdnn {

namespace {

/// The functions fused after a convolution. oneDNN 2.6 confuses functions of one kind with different parameters in a
/// step, because it caches generated code by algorithm. So each kind occurs at most once.
class Followers {
 public:
  /// Whether the node is a function that can follow; it does then.
  bool take(const Activation& activation) {
    using Kind = Activation::Kind;
    switch (activation.kind) {
      case Kind::relu:
      case Kind::leaky_relu:
        return once(slope_);
      case Kind::clip:
        return once(clip_);
      case Kind::hard_swish:
        return once(swish_);
      default:
        return false;
    }
  }
  /// A sum may follow a product: both are one line.
  bool take(const Line& line) {
    const bool continued = last_ == &line_ && line.slope == 1;
    return continued || once(line_);
  }
  bool take_addition() { return once(addition_); }

 private:
  bool once(bool& taken) {
    if (taken) return false;
    last_ = &taken;
    return taken = true;
  }

  bool slope_ = false;
  bool clip_ = false;
  bool swish_ = false;
  bool line_ = false;
  bool addition_ = false;
  const bool* last_ = nullptr;
};

class Fuser {
 public:
  explicit Fuser(const Model& model) : model_(model), uses_(uses_of(model)), taken_(model.nodes.size()) {}

  std::vector<Step> fused(std::vector<Step> steps) {
    // From the end, so that the later one of two added convolutions takes the addition: the result of the earlier one
    // is known by then.
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const Operation& operation = model_.nodes[step->node].operation;
      if (std::holds_alternative<Convolution>(operation) || std::holds_alternative<Linear>(operation)) take(*step);
    }
    for (const QuantisedValue& value : quantised_values(model_))  // a quotient follows no other node
      for (std::size_t i = 1; i < value.nodes.size(); ++i) {
        steps[value.first()].fused.push_back(static_cast<Index>(value.nodes[i]));
        taken_[value.nodes[i]] = true;
      }
    std::erase_if(steps, [&](const Step& step) { return taken_[step.node]; });
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.last() < b.last(); });
    return steps;
  }

 private:
  void take(Step& step) {
    Followers followers;
    while (const std::optional<Index> next = only_reader(model_.nodes[step.last()].output)) {
      const Node& node = model_.nodes[*next];
      if (!follows(followers, node)) return;
      taken_[*next] = true;
      step.fused.push_back(*next);
    }
  }

  bool follows(Followers& followers, const Node& node) const {
    if (const auto* const activation = std::get_if<Activation>(&node.operation)) return followers.take(*activation);
    if (const auto line = line_of(model_, node)) return followers.take(*line);
    return is_addition_of_equals(node) && followers.take_addition();
  }

  std::optional<Index> only_reader(ValueId value) const {
    const auto reader = uses_.only_reader(value);
    return reader && !taken_[*reader] ? std::optional(static_cast<Index>(*reader)) : std::nullopt;
  }

  bool is_addition_of_equals(const Node& node) const {
    const auto* const both = std::get_if<Elementwise>(&node.operation);
    return both != nullptr && both->kind == Elementwise::Kind::add &&
           model_.values[node.inputs[0]].shape == model_.values[node.inputs[1]].shape;
  }

  const Model& model_;
  ValueUses uses_;
  std::vector<bool> taken_;
};

}  // namespace

std::vector<Step> steps_of(const Model& model, bool epilogues) {
  std::vector<Step> steps;
  for (Index i = 0; i < model.nodes.size(); ++i) steps.push_back({i, {}});
  return epilogues ? Fuser(model).fused(std::move(steps)) : steps;
}

std::optional<Line> line_of(const Model& model, const Node& node) {
  const auto* const both = std::get_if<Elementwise>(&node.operation);
  if (both == nullptr) return std::nullopt;
  for (const std::size_t i : {0U, 1U}) {
    const auto& constant = model.values[node.inputs[i]].constant;
    if (!constant || constant->values.size() != 1) continue;
    if (model.values[node.inputs[1 - i]].shape != model.values[node.output].shape) continue;
    const float number = constant->values[0];
    if (both->kind == Elementwise::Kind::multiply) return Line{number, 0};
    if (both->kind == Elementwise::Kind::add) return Line{1, number};
    if (both->kind == Elementwise::Kind::subtract) return i == 0 ? Line{-1, number} : Line{1, -number};
  }
  return std::nullopt;
}

bool adds_value(const Model& model, const Node& node) {
  return std::holds_alternative<Elementwise>(node.operation) && !line_of(model, node);
}

bool is_view(const Operation& operation) {
  const auto* const activation = std::get_if<Activation>(&operation);
  return std::holds_alternative<Reshape>(operation) ||
         (activation != nullptr && activation->kind == Activation::Kind::identity);
}

ValueId other_input(const Node& addition, ValueId value) {
  return addition.inputs[0] == value ? addition.inputs[1] : addition.inputs[0];
}

}  // namespace spdnn
