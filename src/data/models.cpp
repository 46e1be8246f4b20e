#include "data/models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "data/counter_random.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

using Json = nlohmann::ordered_json;

/// A layer of weights, followed by ReLU unless it is the last, and by a pool of 2 x 2 where it says so.
struct LayerShape {
  bool linear = false;
  Extent inputs = 0;
  Extent outputs = 0;
  Extent kernel = 1;
  Extent pad = 0;
  bool pooled = false;
};

std::vector<LayerShape> layers_of(const std::string& family) {
  if (family == "lenet5")
    return {{false, 1, 20, 5, 0, true}, {false, 20, 50, 5, 0, true}, {true, 800, 500}, {true, 500, 10}};
  if (family == "vgg8")
    return {{false, 1, 64, 3, 1, false},
            {false, 64, 64, 3, 1, true},
            {false, 64, 128, 3, 1, false},
            {false, 128, 128, 3, 1, true},
            {false, 128, 256, 3, 1, false},
            {false, 256, 256, 3, 1, true},
            {true, 2304, 256},
            {true, 256, 10}};
  throw UsageError("family", fmt::format("'{}' is no family of models; expected lenet5 or vgg8", family));
}

/// `nonzeros` of all values are not zero, drawn one after another without replacement (Knuth, The Art of Computer
/// Programming, volume 2, algorithm S).
std::vector<float> pruned(std::size_t count, std::size_t nonzeros, double deviation, RandomStream stream) {
  std::vector<float> values(count);
  std::size_t left = nonzeros;
  for (std::size_t i = 0; i < count && left > 0; ++i) {
    if (stream.unit() * static_cast<double>(count - i) > static_cast<double>(left)) continue;
    --left;
    values[i] = static_cast<float>(deviation * stream.normal());
  }
  return values;
}

/// The graph, layer by layer, and its weights.
class Maker {
 public:
  explicit Maker(const ModelFamilyOptions& options) : options_(options) {
    model_["name"] =
        fmt::format("{}, {:g} % of the weights zero, seed {}", options.family, 100 * options.sparsity, options.seed);
    model_["input_shape"] = {"N", 1, 28, 28};
    model_["classes"] = 10;
    model_["nodes"] = Json::array();
  }

  void add(const LayerShape& layer, bool last) {
    ++number_;
    if (layer.linear && !flat_) {
      add_node("flatten", "flat");
      flat_ = true;
    }
    const std::string name = fmt::format("{}{}", layer.linear ? "fc" : "conv", number_);
    Json& node = add_node(layer.linear ? "linear" : "conv", name);
    node["cin"] = layer.inputs;
    node["cout"] = layer.outputs;
    if (!layer.linear) {
      node["kernel"] = layer.kernel;
      node["pad"] = layer.pad;
    }
    add_weights(name, layer);
    if (!last) add_node("relu", fmt::format("relu{}", number_));
    if (layer.pooled) add_node("maxpool", fmt::format("pool{}", number_))["kernel"] = 2;
  }

  GeneratedModel take() {
    made_.architecture = model_.dump(1) + "\n";
    return std::move(made_);
  }

 private:
  Json& add_node(const char* op, const std::string& name) {
    model_["nodes"].push_back({{"op", op}, {"name", name}, {"inputs", {previous_}}});
    previous_ = name;
    return model_["nodes"].back();
  }

  void add_weights(const std::string& name, const LayerShape& layer) {
    Shape shape{layer.outputs, layer.inputs};
    if (!layer.linear) shape.insert(shape.end(), {layer.kernel, layer.kernel});
    const std::size_t count = *elements(shape);
    const auto share = static_cast<double>(count) * (1 - options_.sparsity);
    const std::size_t nonzeros = std::clamp<std::size_t>(static_cast<std::size_t>(std::llround(share)), 1, count);
    const double terms = static_cast<double>(nonzeros) / static_cast<double>(layer.outputs);
    const double deviation = std::sqrt(2 / std::max(terms, 1.0));
    made_.tensors.push_back(
        {name + ".weight", {shape, pruned(count, nonzeros, deviation, {options_.seed, number_, 0})}});
    const auto outputs = static_cast<std::size_t>(layer.outputs);
    made_.tensors.push_back(
        {name + ".bias", {{layer.outputs}, pruned(outputs, outputs, 0.01, {options_.seed, number_, 1})}});
    made_.weights += count;
    made_.nonzeros += nonzeros;
  }

  const ModelFamilyOptions& options_;
  Json model_;
  GeneratedModel made_;
  std::string previous_ = "input";
  std::uint64_t number_ = 0;  ///< of the layer, from 1
  bool flat_ = false;
};

}  // namespace

GeneratedModel generate_pruned_model(const ModelFamilyOptions& options) {
  if (!(options.sparsity >= 0 && options.sparsity < 1))
    throw UsageError("sparsity", fmt::format("{} is not from 0 to below 1", options.sparsity));
  const std::vector<LayerShape> layers = layers_of(options.family);
  Maker maker(options);
  for (std::size_t i = 0; i < layers.size(); ++i) maker.add(layers[i], i + 1 == layers.size());
  return maker.take();
}

}  // namespace spdnn
