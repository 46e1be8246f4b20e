#include "engines/cpu/conv/steps.hpp"

#include <algorithm>
#include <optional>

#include "model/uses.hpp"

namespace spdnn {

namespace {

bool may_follow(const Activation& activation) {
  using Kind = Activation::Kind;
  return activation.kind == Kind::relu || activation.kind == Kind::clip || activation.kind == Kind::leaky_relu ||
         activation.kind == Kind::hard_swish;
}

class Fuser {
 public:
  explicit Fuser(const Model& model) : model_(model), uses_(uses_of(model)), taken_(model.nodes.size()) {}

  std::vector<Step> steps() {
    std::vector<Step> steps;
    for (Index i = 0; i < model_.nodes.size(); ++i) steps.push_back({i, {}});
    // From the end, so that of two convolutions that are added the later one takes the addition: the earlier one's
    // result is there by then.
    for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
      const Operation& operation = model_.nodes[step->node].operation;
      if (std::holds_alternative<Convolution>(operation) || std::holds_alternative<Linear>(operation)) take(*step);
    }
    std::erase_if(steps, [&](const Step& step) { return taken_[step.node]; });
    std::sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.last() < b.last(); });
    return steps;
  }

 private:
  void take(Step& step) {
    bool added = false;
    while (const std::optional<Index> next = only_reader(model_.nodes[step.last()].output)) {
      const Node& node = model_.nodes[*next];
      const auto* const activation = std::get_if<Activation>(&node.operation);
      const bool adds = !added && is_addition_of_equals(node);
      if (!adds && (activation == nullptr || !may_follow(*activation))) return;
      added = added || adds;
      taken_[*next] = true;
      step.fused.push_back(*next);
    }
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

std::vector<Step> steps_of(const Model& model) { return Fuser(model).steps(); }

ValueId other_input(const Node& addition, ValueId value) {
  return addition.inputs[0] == value ? addition.inputs[1] : addition.inputs[0];
}

}  // namespace spdnn
