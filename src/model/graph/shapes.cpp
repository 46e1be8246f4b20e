#include "model/graph/node_text.hpp"
#include "model/operations/requirements.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

void infer_shapes(Model& model) {
  for (const ValueId input : model.inputs) rules::require_shape(model.values[input].shape);
  for (Value& value : model.values)
    if (value.constant) value.shape = value.constant->shape;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    std::vector<Shape> inputs;
    for (const ValueId input : node.inputs) inputs.push_back(model.values[input].shape);
    try {
      model.values[node.output].shape = output_shape(node.operation, inputs);
    } catch (const UsageError& error) {
      throw UsageError(node_text(model, n) + ": " + error.what());
    }
  }
}

}  // namespace spdnn
