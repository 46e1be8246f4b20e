#include <algorithm>

#include "spdnn/model.hpp"

namespace spdnn {

std::vector<std::string> output_names(const Model& model) {
  std::vector<std::string> names;
  for (const ValueId id : model.outputs) {
    std::string name = model.values[id].name.empty() ? "output" : model.values[id].name;
    if (model.values[id].name.empty() || std::find(names.begin(), names.end(), name) != names.end())
      name += "_" + std::to_string(names.size() + 1);
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace spdnn
