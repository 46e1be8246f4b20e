#include "model/rewrites/fold_constants.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "model/graph/remove_unread.hpp"
#include "model/oracle/evaluate.hpp"

namespace spdnn {

namespace {

/// The node's result on constants; empty if the node stays.
std::optional<Tensor> folded(const Model& model, const Node& node) {
  constexpr Offset kLarge = Offset{1} << 22U;  // 16 MiB in fp32
  std::vector<Bounded> inputs;
  Offset read = 0;
  for (const ValueId id : node.inputs) {
    const auto& constant = model.values[id].constant;
    if (!constant) return std::nullopt;
    read += constant->values.size();
  }
  if (node.inputs.empty() || elements(model.values[node.output].shape) > std::max(kLarge, read)) return std::nullopt;
  for (const ValueId id : node.inputs) inputs.push_back(exactly(*model.values[id].constant));
  std::vector<const Bounded*> pointers;
  pointers.reserve(inputs.size());
  for (const Bounded& input : inputs) pointers.push_back(&input);
  const Bounded result = evaluate(node.operation, pointers);
  std::vector<float> values;
  for (const double value : result.values) {
    values.push_back(static_cast<float>(value));
    if (!std::isfinite(values.back())) return std::nullopt;
  }
  return Tensor{result.shape, std::move(values)};
}

}  // namespace

Index fold_constants(Model& model) {
  std::vector<Node> kept;
  for (Node& node : model.nodes) {
    std::optional<Tensor> tensor = folded(model, node);
    if (tensor)
      model.values[node.output].constant = std::move(tensor);
    else
      kept.push_back(std::move(node));
  }
  const auto gone = static_cast<Index>(model.nodes.size() - kept.size());
  model.nodes = std::move(kept);
  if (gone > 0) remove_unread(model);
  return gone;
}

}  // namespace spdnn
