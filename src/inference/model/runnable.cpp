#include "inference/model/runnable.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace spdnn {

namespace {

/// Whether the value is made of the model's input, and is not the same for all images.
bool made_of_input(const Model& model, ValueId value) {
  std::vector<bool> made(model.values.size());
  made[model.inputs.front()] = true;
  for (const Node& node : model.nodes)
    made[node.output] = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return made[id]; });
  return made[value];
}

}  // namespace

std::string why_not_runnable(const Model& model) {
  if (model.inputs.size() != 1) return fmt::format("the model has {} inputs, expected one", model.inputs.size());
  if (model.outputs.empty()) return "the model has no output";
  const Value& input = model.values[model.inputs.front()];
  const Value& output = model.values[model.outputs.front()];
  for (const Value* value : {&input, &output})
    if (value->shape.empty()) return fmt::format("\"{}\" has no axes, expected images on axis 0", value->name);
  if (input.shape[0] == 0) return fmt::format("the input \"{}\" is {}: no images", input.name, shape_text(input.shape));
  if (input.shape[0] != output.shape[0])
    return fmt::format("the output \"{}\" is {} for images of {}, expected as many of them on axis 0", output.name,
                       shape_text(output.shape), shape_text(input.shape));
  if (!made_of_input(model, model.outputs.front()))
    return fmt::format("the output \"{}\" does not depend on the images", output.name);
  return {};
}

}  // namespace spdnn
