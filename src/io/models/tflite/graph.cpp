#include "io/models/tflite/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/models/add_node.hpp"

namespace spdnn::tflite_reader {

const tflite::Tensor& Graph::tensor(TensorId id) const {
  const std::size_t count = graph_.tensors() == nullptr ? 0 : graph_.tensors()->size();
  if (id < 0 || static_cast<std::size_t>(id) >= count)
    fail(fmt::format("tensor {} does not exist; there are {}", id, count));
  return *graph_.tensors()->Get(static_cast<flatbuffers::uoffset_t>(id));
}

std::string Graph::name(TensorId id) const {
  const auto* name = tensor(id).name();
  return name == nullptr ? std::string() : name->str();
}

std::string Graph::where(TensorId id) const { return fmt::format("{}: tensor {} '{}'", file_, id, name(id)); }

void Graph::add_input(TensorId id, Shape shape) {
  const auto value = narrow<ValueId>(model_.values.size());
  model_.values.push_back({name(id), std::move(shape), std::nullopt});
  model_.inputs.push_back(value);
  set(id, value);
}

const std::variant<ValueId, Constant>* Graph::find(TensorId id) const {
  const auto found = made_.find(id);
  return found == made_.end() ? nullptr : &found->second;
}

const Constant* Graph::constant_or_null(TensorId id) {
  if (const auto* known = find(id)) return std::get_if<Constant>(known);
  if (const auto known = constants_.find(id); known != constants_.end()) return &known->second;
  if (!is_constant(source_, tensor(id))) return nullptr;
  return &constants_.emplace(id, read_constant(source_, tensor(id), where(id), budget_)).first->second;
}

void Graph::set(TensorId id, std::variant<ValueId, Constant> what) {
  if (is_constant(source_, tensor(id)))
    throw DataError(where(id) + ": it is a constant and also the output of an operator");
  if (!made_.emplace(id, std::move(what)).second)
    throw DataError(where(id) + ": it is already an input or the output of an operator");
}

ValueId Graph::add_value(std::string name, const Constant& constant) {
  const auto value = narrow<ValueId>(model_.values.size());
  model_.values.push_back({std::move(name), constant.shape, Tensor{constant.shape, constant.values}});
  return value;
}

void Graph::add_output(TensorId id) {
  const auto* known = find(id);
  const ValueId* made_value = known == nullptr ? nullptr : std::get_if<ValueId>(known);
  if (made_value == nullptr) throw DataError(where(id) + ": it is an output of the model, but no operator makes it");
  ValueId value = *made_value;
  const auto among = [&](const std::vector<ValueId>& ids) { return std::count(ids.begin(), ids.end(), value) > 0; };
  if (shape(value).size() == kImageAxes) {
    value = add_node(model_, where(id), name(id), name(id), to_channels_last(), {value});
  } else if (among(model_.inputs) || among(model_.outputs)) {
    const Activation same{.kind = Activation::Kind::identity};
    value = add_node(model_, where(id), name(id), name(id), same, {value});
  }
  model_.outputs.push_back(value);
}

}  // namespace spdnn::tflite_reader
