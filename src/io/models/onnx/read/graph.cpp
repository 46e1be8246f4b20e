#include "io/models/onnx/read/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/arrays/numbers.hpp"
#include "io/models/add_node.hpp"
#include "io/models/weights_of_type.hpp"
#include "model/operations/csr_of_dense.hpp"

namespace spdnn::onnx_reader {

ValueId Graph::add_input(const std::string& name, Shape shape) {
  const auto id = narrow<ValueId>(model_.values.size());
  model_.values.push_back({name, std::move(shape), std::nullopt});
  model_.inputs.push_back(id);
  set(name, id);
  return id;
}

void Graph::set(const std::string& name, Symbol symbol) {
  if (auto* const constant = std::get_if<Constant>(&symbol); constant != nullptr && constant->name.empty())
    constant->name = name;
  symbols_.insert_or_assign(name, std::move(symbol));
}

ValueId Graph::add_constant(const Constant& constant) {
  const auto next = narrow<ValueId>(model_.values.size());
  const auto [place, added] = constants_.try_emplace({constant.floats().data(), constant.shape}, next);
  if (added)
    model_.values.push_back({constant.name, constant.shape, Tensor{constant.shape, std::get<0>(constant.values)}});
  return place->second;
}

void Graph::add_output(const std::string& name) {
  const auto found = symbols_.find(name);
  if (found == symbols_.end()) fail(fmt::format("no node makes output '{}'", name));
  if (const Constant* constant = std::get_if<Constant>(&found->second)) {
    if (constant->integers()) fail(fmt::format("output '{}' has integers, expected FLOAT", name));
    require_finite(fmt::format("{}: output '{}'", file_, name), constant->floats());
    found->second = add_constant(*constant);
  }
  if (std::holds_alternative<Surrounded>(found->second))
    fail(fmt::format("output '{}' is padded with -inf, which only MaxPool accepts", name));
  ValueId value = std::get<ValueId>(found->second);
  const auto among = [&](const std::vector<ValueId>& ids) { return std::count(ids.begin(), ids.end(), value) > 0; };
  if (among(model_.inputs) || among(model_.outputs) || model_.values[value].constant) {
    const std::string where = fmt::format("{}: output '{}'", file_, name);
    const Activation same{.kind = Activation::Kind::identity};
    value = add_node(model_, where, name, name, same, {value});
  }
  model_.outputs.push_back(value);
}

Weights Graph::sparse(const std::string& where, const Constant& constant, Offset rows, Offset cols, bool transposed) {
  const std::span<const float> weights = constant.floats();
  const std::tuple key{weights.data(), rows, transposed};
  if (const auto known = matrices_.find(key); known != matrices_.end()) return known->second;
  require_finite(where, weights);
  const auto zeros = static_cast<Offset>(std::count(weights.begin(), weights.end(), 0.0F));
  budget_.take((rows + 1) * sizeof(Offset) + (weights.size() - zeros) * (sizeof(Index) + sizeof(float)));
  CsrMatrix matrix = csr_of_dense(weights, narrow<Index>(rows), narrow<Index>(cols), transposed);
  return matrices_[key] = weights_of_type(std::move(matrix), constant.type);
}

}  // namespace spdnn::onnx_reader
