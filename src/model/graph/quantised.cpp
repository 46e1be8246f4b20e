#include "model/graph/quantised.hpp"

#include <fmt/format.h>

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

}  // namespace

std::optional<std::string> note_on_quantised(const Model& model) {
  const std::vector<const Node*> made = makers(model);
  std::size_t values = 0;
  for (const Node& node : model.nodes) values += is_quantisation(node, made) ? 1 : 0;
  if (values == 0) return std::nullopt;
  return fmt::format(
      "{} quantised; arithmetic between them is that of fp32, so programs that compute with integers may differ by "
      "a step of the scale",
      values == 1 ? "1 value is" : counted(values, "value", "values") + " are");
}

}  // namespace spdnn
