#include "bench/conv_models.hpp"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "bench/conv_check.hpp"
#include "data/pruned_matrix.hpp"
#include "prune/quantise.hpp"
#include "prune/quantise_values.hpp"
#include "prune/select.hpp"
#include "prune/two_of_four.hpp"
#include "spdnn/error.hpp"

namespace spdnn::bench {

Model model_of(const ConvCase& one) {
  const ConvLayer& layer = one.layer;
  const auto [rows, columns] = layer.window.kernel;
  Convolution convolution{
      .weights = make_pruned_matrix({.rows = layer.filters,
                                     .cols = narrow<Index>(layer.channels / layer.groups) * rows * columns,
                                     .sparsity = layer.pruned() ? one.sparsity : 0}),
      .bias = std::vector<float>(one.device == Device::cpu ? layer.filters : 0, 0.1F),
      .groups = layer.groups,
      .window = layer.window};
  const Shape input{kBatchExtent, layer.channels, layer.height, layer.width};
  Model model;
  model.name = layer.name();
  model.values = {{"input", input, std::nullopt}, {"output", output_shape(convolution, {input}), std::nullopt}};
  model.nodes.push_back({"layer", std::move(convolution), {0}, 1});
  model.inputs = {0};
  model.outputs = {1};
  return model;
}

Model pooled_model_of(const ConvCase& one) {
  Model model = model_of(one);
  const Shape results = model.values[1].shape;
  if (results[2] < 2 || results[3] < 2) return model;
  Pool pool;
  pool.window.kernel = pool.window.stride = {2, 2};
  model.values.push_back({"relu", results, std::nullopt});
  model.values.push_back({"maxima", output_shape(pool, {results}), std::nullopt});
  model.nodes.push_back({"relu", Activation{}, {1}, 2});
  model.nodes.push_back({"maxima", pool, {2}, 3});
  return model;
}

Model whole_model_of(const ConvCase& one) {
  Model model = model_of(one);
  quantise(model, {Quantisation::Kind::int8, 8});
  quantise_values(model, {{model.inputs.front(), {0, 255 * kByteScale}}});
  return model;
}

GroupedModel grouped_model_of(const ConvCase& one) {
  GroupedModel grouped{model_of(one)};
  try {
    if (store_two_of_four(grouped.model).nodes == 0)
      return {{}, fmt::format("its filters have fewer than {} weights", kFewWeights)};
  } catch (const DataError& error) {
    return {{}, error.what()};
  }
  return grouped;
}

}  // namespace spdnn::bench
