// The properties of a model that all code after the readers relies on.

#include <stdexcept>

#include "core/types/all_finite.hpp"
#include "model/graph/node_text.hpp"
#include "model/operations/operations.hpp"
#include "model/operations/requirements.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model.hpp"

namespace spdnn {

namespace {

using rules::invalid;

/// Which values exist, and that each is made once and before it is read.
void require_graph(const Model& model) {
  const std::size_t count = model.values.size();
  if (count > kMaxIndex) invalid("more than 2^31-1 values");
  const auto text = [&](ValueId id) {
    if (id >= count) invalid("value " + std::to_string(id) + " does not exist");
    return "value \"" + model.values[id].name + "\"";
  };
  std::vector<bool> made(count);
  const auto make = [&](ValueId id) {
    const std::string name = text(id);
    if (made[id]) invalid(name + " is made more than once");
    made[id] = true;
  };
  for (ValueId id = 0; id < count; ++id)
    if (model.values[id].constant) make(id);
  for (const ValueId id : model.inputs) make(id);
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    for (const ValueId id : node.inputs) {
      const std::string name = text(id);
      if (!made[id]) invalid(node_text(model, n) + " reads " + name + " before it is made");
    }
    make(node.output);
  }
  for (const ValueId id : model.outputs) {
    const std::string name = text(id);
    if (!made[id]) invalid("the output " + name + " is never made");
  }
}

void require_constants(const Model& model) {
  for (const Value& value : model.values) {
    if (!value.constant) continue;
    if (elements(value.constant->shape) != value.constant->values.size())
      invalid("constant \"" + value.name + "\" has " + std::to_string(value.constant->values.size()) +
              " values for its shape " + shape_text(value.constant->shape));
    if (!all_finite(value.constant->values)) invalid("constant \"" + value.name + "\" has a value that is not finite");
  }
}

/// Existing shapes are those of infer_shapes().
void require_shapes(const Model& model) {
  std::vector<Shape> shapes;
  for (const Value& value : model.values) shapes.push_back(value.constant ? value.constant->shape : value.shape);
  for (const ValueId id : model.inputs)
    if (!elements(with_batch(shapes[id], 1))) invalid("an input cannot be " + shape_text(shapes[id]));
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Node& node = model.nodes[n];
    std::vector<Shape> inputs;
    for (const ValueId id : node.inputs) inputs.push_back(shapes[id]);
    try {
      const Shape shape = output_shape(node.operation, inputs);
      if (!shapes[node.output].empty() && shapes[node.output] != shape)
        invalid(node_text(model, n) + ": makes " + shape_text(shape) + ", not " + shape_text(shapes[node.output]));
      shapes[node.output] = shape;
    } catch (const UsageError& error) {
      invalid(node_text(model, n) + ": " + error.what());
    }
  }
}

}  // namespace

void Model::validate() const {
  require_graph(*this);
  require_constants(*this);
  for (std::size_t n = 0; n < nodes.size(); ++n) {
    try {
      std::visit([](const auto& operation) { rules::check(operation); }, nodes[n].operation);
    } catch (const std::invalid_argument& error) {
      invalid(node_text(*this, n) + ": " + error.what());
    }
  }
  require_shapes(*this);
}

}  // namespace spdnn
