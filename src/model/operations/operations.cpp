// Dispatches each rule to the family of the operation.

#include "model/operations/operations.hpp"

#include "model/operations/requirements.hpp"

namespace spdnn {

std::string_view operation_name(const Operation& operation) {
  return std::visit([](const auto& one) { return rules::name(one); }, operation);
}

Shape output_shape(const Operation& operation, const std::vector<Shape>& inputs) {
  Shape shape = std::visit([&](const auto& one) { return rules::shape(one, inputs); }, operation);
  rules::require_shape(shape);
  return shape;
}

Bounded evaluate(const Operation& operation, const std::vector<const Bounded*>& inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const Bounded* input : inputs) shapes.push_back(input->shape);
  Bounded output;
  output.shape = output_shape(operation, shapes);
  const auto size = elements(output.shape);
  if (!size) rules::refuse("a result of " + shape_text(output.shape) + " is too large");
  output.values.resize(*size);
  output.bounds.resize(*size);
  std::visit([&](const auto& one) { rules::evaluate(one, inputs, output); }, operation);
  return output;
}

}  // namespace spdnn
