#include "model/graph/quantised.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "core/text/amounts.hpp"
#include "model/graph/uses.hpp"

namespace spdnn {

namespace {

/// The limits of integers of that many bits, signed or not.
bool are_limits(const Activation& clip, int bits) {
  const auto count = static_cast<float>(1 << bits);
  return clip.high - clip.low == count - 1 && (clip.low == 0 || clip.low == -count / 2);
}

const Activation* function_of(const Node& node, Activation::Kind kind) {
  const auto* const one = std::get_if<Activation>(&node.operation);
  return one != nullptr && one->kind == kind ? one : nullptr;
}

bool combines(const Node& node, Elementwise::Kind kind) {
  const auto* const both = std::get_if<Elementwise>(&node.operation);
  return both != nullptr && both->kind == kind;
}

/// The nodes that make integers of a quotient: round, then perhaps the addition of a zero point, then clip.
struct Whole {
  std::size_t round;
  std::optional<std::size_t> add;
  std::size_t clip;
};

/// Those that end with that node, within the limits of integers of 8 or 16 bits.
std::optional<Whole> whole_numbers(const Model& model, const ValueUses& uses, std::size_t last) {
  const Activation* const clip = function_of(model.nodes[last], Activation::Kind::clip);
  if (clip == nullptr || !(are_limits(*clip, 8) || are_limits(*clip, 16))) return std::nullopt;
  std::optional<std::size_t> before = uses.maker[model.nodes[last].inputs[0]];
  std::optional<std::size_t> add;
  if (before && combines(model.nodes[*before], Elementwise::Kind::add)) {
    add = before;
    before = uses.maker[model.nodes[*before].inputs[0]];
  }
  if (!before || function_of(model.nodes[*before], Activation::Kind::round) == nullptr) return std::nullopt;
  return Whole{*before, add, last};
}

/// Walks from the last step of a quantised value to the first. `found` is complete where all fit.
class Steps {
 public:
  Steps(const Model& model, const ValueUses& uses, std::size_t last) : model_(model), uses_(uses), at_(last) {}

  std::optional<QuantisedValue> all() {
    const auto scale_after = combined_with(Elementwise::Kind::multiply);
    const auto zero_after = scale_after ? combined_with(Elementwise::Kind::subtract) : std::nullopt;
    const auto whole = scale_after && at_ ? whole_numbers(model_, uses_, *at_) : std::nullopt;
    if (!whole) return std::nullopt;
    const auto& clip = std::get<Activation>(model_.nodes[whole->clip].operation);
    if (!are_limits(clip, 8)) return std::nullopt;
    found_.is_signed = clip.low < 0;
    found_.scale = *scale_after;
    step_back();
    std::optional<float> zero_before;
    if (whole->add) zero_before = combined_with(Elementwise::Kind::add);
    if (at_ != whole->round) return std::nullopt;
    step_back();
    const auto scale_before = combined_with(Elementwise::Kind::divide);
    if (!scale_before || *scale_before != *scale_after || !(*scale_before > 0) || zero_before != zero_after)
      return std::nullopt;
    if (zero_before && !(*zero_before >= clip.low && *zero_before <= clip.high)) return std::nullopt;
    const float zero = zero_before.value_or(0);
    found_.zero = static_cast<int>(zero);
    if (static_cast<float>(found_.zero) != zero) return std::nullopt;
    std::reverse(found_.nodes.begin(), found_.nodes.end());
    return found_;
  }

 private:
  /// If this step combines a value with one number so, the number; goes on with the step before.
  std::optional<float> combined_with(Elementwise::Kind kind) {
    if (!at_ || !combines(model_.nodes[*at_], kind)) return std::nullopt;
    const Node& node = model_.nodes[*at_];
    const auto& constant = model_.values[node.inputs[1]].constant;
    if (!constant || constant->values.size() != 1 || constant->shape.size() > 1) return std::nullopt;
    if (kind == Elementwise::Kind::add || kind == Elementwise::Kind::subtract) found_.zeros.push_back(node.inputs[1]);
    step_back();
    return constant->values[0];
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

std::vector<QuantisedValue> quantised_values(const Model& model) {
  const ValueUses uses = uses_of(model);
  std::vector<QuantisedValue> values;
  for (std::size_t n = 0; n < model.nodes.size(); ++n)
    if (auto found = Steps(model, uses, n).all()) values.push_back(std::move(*found));
  return values;
}

std::optional<std::string> note_on_quantised(const Model& model) {
  const ValueUses uses = uses_of(model);
  std::size_t values = 0;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) values += whole_numbers(model, uses, n) ? 1 : 0;
  if (values == 0) return std::nullopt;
  return fmt::format(
      "{} quantised; sums may be rounded otherwise than in other programs, whose values may differ by a step of the "
      "scale",
      values == 1 ? "1 value is" : counted(values, "value", "values") + " are");
}

}  // namespace spdnn
