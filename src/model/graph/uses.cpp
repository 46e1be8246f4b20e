#include "model/graph/uses.hpp"

namespace spdnn {

ValueUses uses_of(const Model& model) {
  ValueUses uses;
  uses.maker.resize(model.values.size());
  uses.readers.resize(model.values.size());
  uses.is_output.resize(model.values.size());
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    uses.maker[model.nodes[n].output] = n;
    for (const ValueId id : model.nodes[n].inputs) uses.readers[id].push_back(n);
  }
  for (const ValueId id : model.outputs) uses.is_output[id] = true;
  return uses;
}

}  // namespace spdnn
