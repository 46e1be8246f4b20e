#include "model/rewrites/fuse_hard_swish.hpp"

#include <optional>

#include "model/graph/remove_unread.hpp"
#include "model/graph/uses.hpp"

namespace spdnn {

namespace {

class Finder {
 public:
  explicit Finder(const Model& model) : model_(model), uses_(uses_of(model)) {}

  /// The x of which the value is the hard swish.
  std::optional<ValueId> argument(ValueId value) const {
    const auto product = divided_by_6(value);
    if (product && !uses_.only_reader(*product)) return std::nullopt;
    const auto x = product ? of_product(*product, &Finder::clipped) : of_product(value, &Finder::gate);
    return x && model_.values[*x].shape == model_.values[value].shape ? x : std::nullopt;
  }

 private:
  using Gate = std::optional<ValueId> (Finder::*)(ValueId) const;

  /// The node that makes the value, if it is of that kind.
  template <class Kind>
  const Node* made_by(ValueId value) const {
    const auto maker = uses_.maker[value];
    return maker && std::holds_alternative<Kind>(model_.nodes[*maker].operation) ? &model_.nodes[*maker] : nullptr;
  }
  const Node* made_by(ValueId value, Elementwise::Kind kind) const {
    const Node* node = made_by<Elementwise>(value);
    return node != nullptr && std::get<Elementwise>(node->operation).kind == kind ? node : nullptr;
  }
  bool is_number(ValueId value, float number) const {
    const auto& constant = model_.values[value].constant;
    return constant && constant->values.size() == 1 && constant->values[0] == number;
  }

  /// x if the value is x + 3.
  std::optional<ValueId> less_3(ValueId value) const {
    const Node* const sum = made_by(value, Elementwise::Kind::add);
    if (sum == nullptr) return std::nullopt;
    for (const std::size_t i : {0U, 1U})
      if (is_number(sum->inputs[1 - i], 3)) return sum->inputs[i];
    return std::nullopt;
  }
  std::optional<ValueId> divided_by_6(ValueId value) const {
    const Node* const quotient = made_by(value, Elementwise::Kind::divide);
    if (quotient == nullptr || !is_number(quotient->inputs[1], 6)) return std::nullopt;
    return quotient->inputs[0];
  }
  /// x if the value is x + 3, clipped to 0..6, and only one node reads it.
  std::optional<ValueId> clipped(ValueId value) const {
    const Node* const node = made_by<Activation>(value);
    if (node == nullptr || !uses_.only_reader(value)) return std::nullopt;
    const auto& clip = std::get<Activation>(node->operation);
    if (clip.kind != Activation::Kind::clip || clip.low != 0 || clip.high != 6) return std::nullopt;
    return uses_.only_reader(node->inputs[0]) ? less_3(node->inputs[0]) : std::nullopt;
  }
  /// x if the value is min(1, max(0, x / 6 + 1/2)), and only one node reads it.
  std::optional<ValueId> gate(ValueId value) const {
    if (!uses_.only_reader(value)) return std::nullopt;
    if (const auto of_6 = divided_by_6(value)) return clipped(*of_6);
    const Node* const node = made_by<Activation>(value);
    if (node == nullptr) return std::nullopt;
    const auto& sigmoid = std::get<Activation>(node->operation);
    const bool same =
        sigmoid.kind == Activation::Kind::hard_sigmoid && sigmoid.alpha == 1.F / 6 && sigmoid.beta == 0.5F;
    return same ? std::optional(node->inputs[0]) : std::nullopt;
  }
  /// x if the value is the product of x and its gate.
  std::optional<ValueId> of_product(ValueId value, Gate gate_of) const {
    const Node* const product = made_by(value, Elementwise::Kind::multiply);
    if (product == nullptr) return std::nullopt;
    for (const std::size_t i : {0U, 1U}) {
      const ValueId x = product->inputs[i];
      if ((this->*gate_of)(product->inputs[1 - i]) == x) return x;
    }
    return std::nullopt;
  }

  const Model& model_;
  ValueUses uses_;
};

}  // namespace

Index fuse_hard_swish(Model& model) {
  const Finder finder(model);
  const Activation hard_swish{.kind = Activation::Kind::hard_swish};
  Index made = 0;
  for (Node& node : model.nodes) {
    const auto argument = finder.argument(node.output);
    if (!argument) continue;
    node.operation = hard_swish;
    node.inputs = {*argument};
    ++made;
  }
  if (made > 0) remove_unread(model);
  return made;
}

}  // namespace spdnn
