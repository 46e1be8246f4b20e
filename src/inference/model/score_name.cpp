#include "inference/model/score_name.hpp"

#include <variant>
#include <vector>

namespace spdnn {

namespace {

bool passes_on(const Operation& operation) {
  const auto* const activation = std::get_if<Activation>(&operation);
  return std::holds_alternative<Reshape>(operation) || std::holds_alternative<Transpose>(operation) ||
         (activation != nullptr && activation->kind == Activation::Kind::identity);
}

std::string made_by(const Operation& operation) {
  const auto* const activation = std::get_if<Activation>(&operation);
  const auto* const elements = std::get_if<Elementwise>(&operation);
  if (std::holds_alternative<Softmax>(operation)) return "probability";
  if (activation != nullptr && activation->kind == Activation::Kind::sigmoid) return "sigmoid";
  const bool sum = elements != nullptr && elements->kind == Elementwise::Kind::add;
  const bool affine = std::holds_alternative<Convolution>(operation) || std::holds_alternative<Linear>(operation) ||
                      std::holds_alternative<BatchNorm>(operation);
  return sum || affine ? "logit" : "output";
}

}  // namespace

std::string score_name(const Model& model) {
  std::vector<std::string> names(model.values.size(), "output");
  for (const Node& node : model.nodes)
    names[node.output] = passes_on(node.operation) ? names[node.inputs.front()] : made_by(node.operation);
  return names[model.outputs.front()];
}

}  // namespace spdnn
