#include "io/models/add_node.hpp"

#include <fmt/format.h>

#include <utility>

#include "spdnn/error.hpp"

namespace spdnn {

ValueId add_node(Model& model, const std::string& where, const std::string& name, const std::string& output,
                 Operation operation, std::vector<ValueId> inputs) {
  std::vector<Shape> shapes;
  shapes.reserve(inputs.size());
  for (const ValueId input : inputs) shapes.push_back(model.values[input].shape);
  Shape made;
  try {
    made = output_shape(operation, shapes);
  } catch (const UsageError& misfit) {
    throw DataError(fmt::format("{}: {}", where, misfit.what()));
  }
  const auto id = narrow<ValueId>(model.values.size());
  model.values.push_back({output, std::move(made), std::nullopt});
  model.nodes.push_back({name, std::move(operation), std::move(inputs), id});
  return id;
}

}  // namespace spdnn
