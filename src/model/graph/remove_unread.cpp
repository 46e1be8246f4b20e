#include "model/graph/remove_unread.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace spdnn {

namespace {

void remove_values(Model& model, const std::vector<bool>& kept) {
  std::vector<ValueId> renamed(model.values.size());
  std::vector<Value> values;
  for (std::size_t id = 0; id < kept.size(); ++id) {
    renamed[id] = static_cast<ValueId>(values.size());
    if (kept[id]) values.push_back(std::move(model.values[id]));
  }
  const auto rename = [&](ValueId& id) { id = renamed[id]; };
  model.values = std::move(values);
  std::for_each(model.inputs.begin(), model.inputs.end(), rename);
  std::for_each(model.outputs.begin(), model.outputs.end(), rename);
  for (Node& node : model.nodes) {
    std::for_each(node.inputs.begin(), node.inputs.end(), rename);
    rename(node.output);
  }
}

}  // namespace

Index remove_unread(Model& model) {
  std::vector<bool> read(model.values.size());
  for (const ValueId id : model.outputs) read[id] = true;
  std::vector<Node> nodes;
  for (std::size_t n = model.nodes.size(); n-- > 0;) {
    if (!read[model.nodes[n].output]) continue;
    for (const ValueId id : model.nodes[n].inputs) read[id] = true;
    nodes.push_back(std::move(model.nodes[n]));
  }
  std::reverse(nodes.begin(), nodes.end());
  const auto removed = static_cast<Index>(model.nodes.size() - nodes.size());
  model.nodes = std::move(nodes);
  for (const ValueId id : model.inputs) read[id] = true;
  remove_values(model, read);
  return removed;
}

}  // namespace spdnn
