#include "fuzz/model_reader.hpp"

#include "fuzz/harness.hpp"
#include "model/oracle/evaluate.hpp"

namespace spdnn::fuzz {

namespace {

constexpr Offset kLittleWork = 10'000;

void require_pruned(const CsrMatrix& matrix) {
  fuzz::require_sound(matrix);
  for (const float value : matrix.values) require(value != 0, "zeros are no entries");
}

void require_sound(const Model& model) {
  try {
    model.validate();
  } catch (const std::invalid_argument& error) {
    require(false, std::string("a model that is read is sound: ") + error.what());
  }
  for (const Node& node : model.nodes)
    if (const CsrMatrix* const weights = matrix_or_null(node.operation)) require_pruned(*weights);
}

/// Inputs of ones for a model that is so small that it can be evaluated; nothing for others.
std::optional<std::vector<Tensor>> inputs_for(const Model& model) {
  Offset work = 0;
  for (const Value& value : model.values) {
    const auto size = elements(with_batch(value.shape, 2));
    if (!size || *size > kLittleWork) return std::nullopt;
    work += *size;
  }
  for (const Node& node : model.nodes) {
    Offset weights = 1;
    if (const CsrMatrix* const matrix = matrix_or_null(node.operation)) weights = matrix->entries();
    if (const auto* pool = std::get_if<Pool>(&node.operation))
      weights = Offset{pool->window.kernel[0]} * pool->window.kernel[1];
    if (weights > kLittleWork) return std::nullopt;
    work += weights * *elements(with_batch(model.values[node.output].shape, 2));
  }
  if (work > 20 * kLittleWork) return std::nullopt;
  std::vector<Tensor> inputs;
  for (const ValueId input : model.inputs) {
    const Shape shape = with_batch(model.values[input].shape, 2);
    inputs.push_back({shape, std::vector<float>(static_cast<std::size_t>(*elements(shape)), 1)});
  }
  return inputs;
}

}  // namespace

bool check_model_reader(std::size_t size, const std::string& name, const std::function<Model()>& read) {
  const MemoryPeak peak(size);
  Model model;
  const std::string problem = attempt([&] { model = read(); });
  if (!problem.empty()) {
    require(problem.starts_with(name + ": "), "a message names the file");
    return false;
  }
  require_sound(model);
  if (const auto inputs = inputs_for(model)) {
    const std::vector<Bounded> outputs = evaluate(model, *inputs);
    for (std::size_t i = 0; i < outputs.size(); ++i)
      require(outputs[i].shape == with_batch(model.values[model.outputs[i]].shape, 2), "shapes are those inferred");
  }
  return true;
}

void check_model_reader(const std::uint8_t* data, std::size_t size, const std::string& name,
                        const std::function<Model(const InputFile&)>& read) {
  const auto bytes = std::as_bytes(std::span(data, size));
  check_model_reader(size, name, [&] { return read(InputFile(name, bytes)); });
}

}  // namespace spdnn::fuzz
