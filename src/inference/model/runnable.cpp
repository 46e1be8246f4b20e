#include "inference/model/runnable.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// By value, whether it is made of the model's input, and so is not the same for all images.
std::vector<bool> made_of_input(const Model& model) {
  std::vector<bool> made(model.values.size());
  made[model.inputs.front()] = true;
  for (const Node& node : model.nodes)
    made[node.output] = std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId id) { return made[id]; });
  return made;
}

/// By output, the reason why it is none of the images; empty if it is one.
std::vector<std::string> why_not_of_images(const Model& model) {
  const Shape& input = model.values[model.inputs.front()].shape;
  const std::vector<bool> made = made_of_input(model);
  std::vector<std::string> why;
  for (const ValueId id : model.outputs) {
    const Value& output = model.values[id];
    if (!made[id])
      why.push_back(fmt::format("the output \"{}\" does not depend on the images", output.name));
    else if (output.shape.empty())
      why.push_back(fmt::format("\"{}\" has no axes, expected images on axis 0", output.name));
    else if (input[0] != output.shape[0])
      why.push_back(fmt::format("the output \"{}\" is {} for images of {}, expected as many of them on axis 0",
                                output.name, shape_text(output.shape), shape_text(input)));
    else
      why.emplace_back();
  }
  return why;
}

}  // namespace

std::string why_not_runnable(const Model& model) {
  if (model.inputs.size() != 1) return fmt::format("the model has {} inputs, expected one", model.inputs.size());
  if (model.outputs.empty()) return "the model has no output";
  const Value& input = model.values[model.inputs.front()];
  if (input.shape.empty()) return fmt::format("\"{}\" has no axes, expected images on axis 0", input.name);
  if (input.shape[0] == 0) return fmt::format("the input \"{}\" is {}: no images", input.name, shape_text(input.shape));
  const std::vector<std::string> why = why_not_of_images(model);
  return std::find(why.begin(), why.end(), "") == why.end() ? why.front() : "";
}

void choose_outputs(Model& model, const std::vector<std::string>& names, std::vector<std::string>& notes) {
  const std::vector<std::string> all = output_names(model);
  const std::vector<std::string> why = why_not_of_images(model);
  std::vector<ValueId> chosen;
  for (const std::string& name : names) {
    const auto found = std::find(all.begin(), all.end(), name);
    if (found == all.end())
      throw UsageError("output", fmt::format("the model has no output '{}', but {}", name, fmt::join(all, ", ")));
    const std::size_t number = found - all.begin();
    if (!why[number].empty()) throw DataError(why[number]);
    const ValueId id = model.outputs[number];
    if (std::find(chosen.begin(), chosen.end(), id) != chosen.end())
      throw UsageError("output", fmt::format("'{}' is named twice", name));
    chosen.push_back(id);
  }
  for (std::size_t i = 0; names.empty() && i < all.size(); ++i) {
    if (why[i].empty())
      chosen.push_back(model.outputs[i]);
    else
      notes.push_back(why[i] + ": left out");
  }
  model.outputs = std::move(chosen);
}

}  // namespace spdnn
