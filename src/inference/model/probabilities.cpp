#include "inference/model/probabilities.hpp"

#include <optional>
#include <variant>

#include "model/operations/operations.hpp"

namespace spdnn {

namespace {

bool is_activation(const Operation& operation, Activation::Kind kind) {
  const auto* activation = std::get_if<Activation>(&operation);
  return activation != nullptr && activation->kind == kind;
}

bool makes_probabilities(const Operation& operation) {
  return std::holds_alternative<Softmax>(operation) || is_activation(operation, Activation::Kind::sigmoid);
}

/// Whether the operation, applied to ones for probabilities and zeros for other numbers, gives the same of its output.
bool keeps_marks(const Operation& operation) {
  const auto* elements = std::get_if<Elementwise>(&operation);
  const auto* pad = std::get_if<Pad>(&operation);  // also cuts
  return std::holds_alternative<Reshape>(operation) || std::holds_alternative<Transpose>(operation) ||
         std::holds_alternative<Concat>(operation) || is_activation(operation, Activation::Kind::identity) ||
         (pad != nullptr && pad->value == 0) || (elements != nullptr && elements->kind == Elementwise::Kind::multiply);
}

/// Follows values back to the nodes that made them. Marks are ones and zeros.
class Marks {
 public:
  explicit Marks(const Model& model) : model_(model), made_by_(model.values.size()), marks_(model.values.size()) {
    for (const Node& node : model.nodes) made_by_[node.output] = &node;
  }

  const Bounded& of(ValueId value) {
    std::optional<Bounded>& marks = marks_[value];
    if (marks) return *marks;
    const Node* const node = made_by_[value];
    if (node == nullptr || !keeps_marks(node->operation))
      return marks.emplace(all(value, node != nullptr && makes_probabilities(node->operation)));
    std::vector<const Bounded*> inputs;
    for (const ValueId input : node->inputs) inputs.push_back(&of(input));
    return marks.emplace(evaluate(node->operation, inputs));
  }

 private:
  Bounded all(ValueId value, bool probabilities) const {
    Bounded marks;
    marks.shape = with_batch(model_.values[value].shape, 1);
    marks.values.assign(elements(marks.shape).value_or(0), probabilities ? 1 : 0);
    marks.bounds.assign(marks.values.size(), 0);
    return marks;
  }

  const Model& model_;
  std::vector<const Node*> made_by_;
  std::vector<std::optional<Bounded>> marks_;
};

}  // namespace

std::vector<bool> probabilities_of(const Model& model, ValueId value) {
  const Bounded marks = Marks(model).of(value);
  const std::size_t images = marks.shape.empty() ? 1 : static_cast<std::size_t>(marks.shape.front());
  std::vector<bool> probabilities(marks.values.size() / images);
  for (std::size_t i = 0; i < probabilities.size(); ++i) probabilities[i] = marks.values[i] == 1;
  return probabilities;
}

}  // namespace spdnn
