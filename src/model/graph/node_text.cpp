#include "model/graph/node_text.hpp"

namespace spdnn {

std::string node_text(const Model& model, std::size_t node) {
  std::string text = "node " + std::to_string(node + 1);
  if (!model.nodes[node].name.empty()) text += " \"" + model.nodes[node].name + "\"";
  return text + " (" + std::string(operation_name(model.nodes[node].operation)) + ")";
}

}  // namespace spdnn
