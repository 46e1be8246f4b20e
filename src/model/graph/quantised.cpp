#include "model/graph/quantised.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/amounts.hpp"

namespace spdnn {

namespace {

/// The limits of integers of 8 or 16 bits, signed or not.
bool are_limits(const Activation& clip) {
  for (const float count : {256.F, 65536.F})
    if (clip.high - clip.low == count - 1 && (clip.low == 0 || clip.low == -count / 2)) return true;
  return false;
}

/// The node that makes each value, or nullptr.
std::vector<const Node*> makers(const Model& model) {
  std::vector<const Node*> made(model.values.size());
  for (const Node& node : model.nodes) made[node.output] = &node;
  return made;
}

bool is_quantisation(const Node& node, const std::vector<const Node*>& made) {
  const auto* const clip = std::get_if<Activation>(&node.operation);
  if (clip == nullptr || clip->kind != Activation::Kind::clip || !are_limits(*clip)) return false;
  const Node* before = made[node.inputs[0]];
  if (before == nullptr) return false;
  const auto* const both = std::get_if<Elementwise>(&before->operation);
  if (both != nullptr && both->kind == Elementwise::Kind::add) before = made[before->inputs[0]];
  if (before == nullptr) return false;
  const auto* const round = std::get_if<Activation>(&before->operation);
  return round != nullptr && round->kind == Activation::Kind::round;
}

/// Walks from the last step of a quantised value to the first. `found` is complete where all fit.
class Steps {
 public:
  Steps(const Model& model, const ValueUses& uses, std::size_t last) : model_(model), uses_(uses), at_(last) {}

  std::optional<QuantisedValue> all() {
    const auto scale_after = combined_with(Elementwise::Kind::multiply);
    const auto zero_after = scale_after ? combined_with(Elementwise::Kind::subtract) : std::nullopt;
    const Activation* const clip = scale_after ? function(Activation::Kind::clip) : nullptr;
    if (clip == nullptr || clip->high - clip->low != 255 || !(clip->low == 0 || clip->low == -128)) return std::nullopt;
    found_.is_signed = clip->low < 0;
    found_.scale = *scale_after;
    const auto zero_before = combined_with(Elementwise::Kind::add);
    if (function(Activation::Kind::round) == nullptr) return std::nullopt;
    const auto scale_before = combined_with(Elementwise::Kind::divide);
    if (!scale_before || *scale_before != *scale_after || !(*scale_before > 0) || zero_before != zero_after)
      return std::nullopt;
    if (zero_before && !(*zero_before >= clip->low && *zero_before <= clip->high)) return std::nullopt;
    found_.zero = static_cast<int>(zero_before.value_or(0));
    if (zero_before && static_cast<float>(found_.zero) != *zero_before) return std::nullopt;
    std::reverse(found_.nodes.begin(), found_.nodes.end());
    return found_;
  }

 private:
  /// If this step combines a value with one number so, the number; goes on with the step before.
  std::optional<float> combined_with(Elementwise::Kind kind) {
    if (!at_) return std::nullopt;
    const Node& node = model_.nodes[*at_];
    const auto* const both = std::get_if<Elementwise>(&node.operation);
    if (both == nullptr || both->kind != kind) return std::nullopt;
    const auto& constant = model_.values[node.inputs[1]].constant;
    if (!constant || constant->values.size() != 1 || constant->shape.size() > 1) return std::nullopt;
    if (kind == Elementwise::Kind::add || kind == Elementwise::Kind::subtract) found_.zeros.push_back(node.inputs[1]);
    step_back();
    return constant->values[0];
  }
  const Activation* function(Activation::Kind kind) {
    const auto* const one = at_ ? std::get_if<Activation>(&model_.nodes[*at_].operation) : nullptr;
    if (one == nullptr || one->kind != kind) return nullptr;
    step_back();
    return one;
  }
  void step_back() {
    found_.nodes.push_back(*at_);
    const ValueId before = model_.nodes[*at_].inputs[0];
    at_ = uses_.only_reader(before) ? uses_.maker[before] : std::nullopt;
  }

  const Model& model_;
  const ValueUses& uses_;
  std::optional<std::size_t> at_;
  QuantisedValue found_{};
};

}  // namespace

std::optional<QuantisedValue> quantised_value(const Model& model, const ValueUses& uses, ValueId value) {
  return uses.maker[value] ? Steps(model, uses, *uses.maker[value]).all() : std::nullopt;
}

std::vector<QuantisedValue> quantised_values(const Model& model) {
  const ValueUses uses = uses_of(model);
  std::vector<QuantisedValue> values;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (auto found = Steps(model, uses, n).all()) values.push_back(std::move(*found));
  return values;
}

std::optional<std::string> note_on_quantised(const Model& model) {
  const std::vector<const Node*> made = makers(model);
  std::size_t values = 0;
  for (const Node& node : model.nodes) values += is_quantisation(node, made) ? 1 : 0;
  if (values == 0) return std::nullopt;
  return fmt::format(
      "{} quantised; sums may be rounded otherwise than in other programs, whose values may differ by a step of the "
      "scale",
      values == 1 ? "1 value is" : counted(values, "value", "values") + " are");
}

}  // namespace spdnn
