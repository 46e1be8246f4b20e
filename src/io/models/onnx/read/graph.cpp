#include "io/models/onnx/read/graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "io/arrays/numbers.hpp"
#include "io/models/add_node.hpp"
#include "io/models/weights_of_type.hpp"
#include "model/operations/csr_of_dense.hpp"

namespace spdnn::onnx_reader {

namespace {

/// The non-zeros of a matrix that the file has by rows, or by columns.
CsrMatrix csr_of_sparse(const SparseConstant& constant, Index rows, Index cols, bool transposed) {
  if (transposed) return transpose(csr_of_sparse(constant, cols, rows, false));
  std::vector<Offset> offsets(std::size_t{rows} + 1);
  std::vector<Index> indices;
  std::vector<float> values;
  for (std::size_t i = 0; i < constant.values.size(); ++i) {
    if (constant.values[i] == 0.0F) continue;
    const auto place = static_cast<Offset>(constant.places[i]);
    ++offsets[place / cols + 1];
    indices.push_back(static_cast<Index>(place % cols));
    values.push_back(constant.values[i]);
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return make_csr(rows, cols, std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace

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
  if (const Constant* constant = constant_or_null(name)) {
    if (constant->integers()) {
      const std::span<const std::int64_t> numbers = constant->ints();
      if (std::count(numbers.begin(), numbers.end(), kImages) > 0)
        fail(fmt::format("output '{}' depends on the number of images in a batch", name));
      budget_.take(numbers.size() * sizeof(float));
      found->second = Constant{constant->shape, Array<float>(std::vector<float>(numbers.begin(), numbers.end())), name};
    }
    const Constant& numbers = std::get<Constant>(found->second);
    require_finite(fmt::format("{}: output '{}'", file_, name), numbers.floats());
    found->second = add_constant(Constant(numbers));
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

const Constant* Graph::constant_or_null(const std::string& name) {
  Symbol& symbol = symbols_.at(name);
  if (const auto* const sparse = std::get_if<SparseConstant>(&symbol)) {
    const auto count = static_cast<std::size_t>(*elements(sparse->shape));
    budget_.take(count * sizeof(float));
    std::vector<float> all(count);
    for (std::size_t i = 0; i < sparse->values.size(); ++i)
      all[static_cast<std::size_t>(sparse->places[i])] = sparse->values[i];
    symbol = Constant{sparse->shape, Array<float>(std::move(all)), name, sparse->type};
  }
  return std::get_if<Constant>(&symbol);
}

Weights Graph::weights(const std::string& where, const std::string& name, Offset rows, Offset cols, bool transposed) {
  const auto* const sparse = std::get_if<SparseConstant>(&symbols_.at(name));
  const Constant* const dense = sparse == nullptr ? constant_or_null(name) : nullptr;
  const std::span<const float> numbers = sparse != nullptr ? sparse->values.span() : dense->floats();
  const std::tuple key{numbers.data(), rows, cols, transposed};
  if (const auto known = matrices_.find(key); known != matrices_.end()) return known->second;
  require_finite(where, numbers);
  const auto zeros = static_cast<Offset>(std::count(numbers.begin(), numbers.end(), 0.0F));
  const Offset lines = transposed && sparse != nullptr ? rows + cols : rows;
  budget_.take((lines + 1) * sizeof(Offset) + (numbers.size() - zeros) * (sizeof(Index) + sizeof(float)));
  CsrMatrix matrix = sparse != nullptr ? csr_of_sparse(*sparse, narrow<Index>(rows), narrow<Index>(cols), transposed)
                                       : csr_of_dense(numbers, narrow<Index>(rows), narrow<Index>(cols), transposed);
  return matrices_[key] = weights_of_type(std::move(matrix), sparse != nullptr ? sparse->type : dense->type);
}

}  // namespace spdnn::onnx_reader
