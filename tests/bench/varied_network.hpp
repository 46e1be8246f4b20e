#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_set>
#include <vector>

#include "core/threads/parallel.hpp"
#include "core/types/plan.hpp"
#include "data/counter_random.hpp"
#include "data/generate.hpp"
#include "spdnn/images.hpp"

// Networks for benchmarks whose activations distinguish neurons and images at any depth, and comparisons of them. In
// ordinary networks all activations end at 0 or at the cap, where a check would find no error.
namespace spdnn::bench {

struct VariedOptions {
  Index neurons = 1024;
  Index layers = 120;
  Index degree = 32;
  bool different = false;  ///< all weights differ, instead of being equal after the first layer
  bool power_law = false;  ///< degrees by a power law, as many edges in all; weights of one value
  bool own_biases = true;  ///< with weights of one value: each neuron has its own bias; otherwise no bias
};

inline constexpr double kLevel = 16.0;  ///< mean activation aimed at: half of the cap

/// The output neuron of rank k reads a number of inputs in proportion to 1 / sqrt(k), at most all of them. There are as
/// many edges in all as with `degree` everywhere, and the heavy neurons are spread over the layer.
inline void make_power_law(Network& network) {
  for (Layer& layer : network.layers) {
    const Index n = layer.outputs();
    const auto total = static_cast<double>(layer.weights.entries());
    double sum = 0;
    for (Index k = 1; k <= n; ++k) sum += 1.0 / std::sqrt(k);
    std::vector<Offset> offsets(std::size_t{n} + 1, 0);
    for (Index j = 0; j < n; ++j) {
      const Index rank = static_cast<Index>(Offset{j} * 40503U % n) + 1;
      const double degree = std::max(1.0, total / sum / std::sqrt(rank));
      offsets[j + 1] = offsets[j] + std::min<Offset>(static_cast<Offset>(degree), n);
    }
    std::vector<Index> indices;
    for (Index j = 0; j < n; ++j)
      for (Offset k = 0; k < offsets[j + 1] - offsets[j]; ++k)
        indices.push_back(static_cast<Index>((k * 2654435761U / 64 + j * 97U) % n));
    for (Index j = 0; j < n; ++j)
      std::sort(indices.begin() + static_cast<std::ptrdiff_t>(offsets[j]),
                indices.begin() + static_cast<std::ptrdiff_t>(offsets[j + 1]));
    layer.weights.offsets = Array<Offset>(std::move(offsets));
    layer.weights.indices = Array<Index>(std::move(indices));
  }
}

/// Scales the first layer so that its mean sum is kLevel for images like the given ones.
inline void calibrate_first(Layer& layer, const ImageSet& images, Index degree) {
  const double pixels = static_cast<double>(images.images()) * images.neurons();
  const double lit = static_cast<double>(images.nonzeros()) / pixels;
  const double weight = kLevel / (degree * lit);
  if (layer.weights.uniform()) {
    layer.weights.value = static_cast<float>(weight);
    return;
  }
  std::vector<float> values(layer.weights.entries());
  RandomStream stream(1, 101, 0);
  for (float& value : values) value = static_cast<float>(weight * stream.between(0.5, 1.5));
  layer.weights.values = Array<float>(std::move(values));
}

/// With weights of one value, only an image's level would survive: if the weights of a neuron add up to s, the level m
/// becomes s m + b, and differences between neurons shrink by sqrt(degree) per layer, until fp32 shows none. So every
/// neuron has its own bias, with mean -(s - 1) kLevel and never above 0, which keeps kLevel where it is. s is so little
/// above 1 that levels diverge by a third at most from the first layer to the last.
inline void add_own_biases(Network& network, Index degree) {
  const double growth = 0.3 / static_cast<double>(network.layers.size());
  for (std::size_t k = 0; k < network.layers.size(); ++k) {
    Layer& layer = network.layers[k];
    layer.weights.value = static_cast<float>((1.0 + growth) / degree);
    std::vector<double> biases(layer.outputs());
    RandomStream stream(1, 102, k);
    for (double& bias : biases) bias = -stream.between(0.0, 2.0 * growth * kLevel);
    layer.bias.values = Array<double>(std::move(biases));
  }
}

/// Weights that all differ. They have both signs and are so large that differences between rows of images hardly shrink
/// from layer to layer, but not so large that rounding errors keep growing (with 1.8 / sqrt(degree) they do, to 1e-2
/// after 120 layers). Somewhat more of them are positive than negative, which keeps rows alive.
inline WeightLaw varied_law(const VariedOptions& options) {
  const double degree = options.degree;
  if (options.different) return {WeightLaw::Kind::normal, 0.8 / degree, 1.5 / std::sqrt(degree)};
  return {.value = 1.0 / degree};
}

inline std::vector<float> input_row(const CsrMatrix& images, Index image) {
  std::vector<float> row(images.cols, 0.0F);
  for (Offset k = images.offsets[image]; k < images.offsets[image + 1]; ++k)
    row[images.indices[k]] += images.entry_value(k);
  return row;
}

/// With degrees by a power law, a neuron's value grows with its degree. The weight of each layer is chosen on a few
/// images so that the heaviest neuron of an average image stays at half of the cap, since nothing else would hold it
/// there.
inline void keep_level(Network& network, const ImageSet& images, Index degree) {
  const CsrMatrix sample = images.slice(0, std::min<Index>(images.images(), 8)).to_csr();
  std::vector<std::vector<float>> rows;
  for (Index image = 0; image < sample.rows; ++image) rows.push_back(input_row(sample, image));
  for (Layer& layer : network.layers) {
    CsrMatrix& weights = layer.weights;
    Offset most = 1;
    for (Index j = 0; j < weights.rows; ++j) most = std::max(most, weights.degree(j));
    std::vector<std::vector<float>> sums(rows.size(), std::vector<float>(weights.rows));
    std::vector<double> totals(rows.size());
    parallel_for(rows.size(), [&](std::size_t image) {
      for (Index j = 0; j < weights.rows; ++j) {
        for (const Index input : weights.row(j)) sums[image][j] += rows[image][input];
        totals[image] += sums[image][j];
      }
    });
    const double mean =
        std::accumulate(totals.begin(), totals.end(), 0.0) / (static_cast<double>(weights.rows) * sample.rows);
    weights.value = static_cast<float>(kLevel * degree / static_cast<double>(most) / mean);
    for (auto& row : sums)
      for (float& y : row) y = std::min(y * weights.value, static_cast<float>(network.cap.value()));
    rows = std::move(sums);
  }
}

inline Network varied_network(const VariedOptions& options, const ImageSet& images) {
  FamilyOptions family;
  family.neurons = options.neurons;
  family.layers = options.layers;
  family.degree = options.degree;
  family.law = varied_law(options);
  Network network = generate_random(family);
  if (options.power_law) {
    make_power_law(network);
    keep_level(network, images, options.degree);
    return network;
  }
  if (options.own_biases && !options.different) add_own_biases(network, options.degree);
  calibrate_first(network.layers.front(), images, options.degree);
  return network;
}

/// How a product is added to a sum: rounded once, as on GPUs, or twice, the product and the sum.
enum class Products { fused, rounded };

inline float activated(const Plan& plan, float z, float bias) {
  if (plan.bias_rule == BiasRule::everywhere || z != 0.0F) z += bias;
  z = z > 0.0F ? z : 0.0F;
  return plan.cap ? std::min(z, static_cast<float>(*plan.cap)) : z;
}

inline std::vector<float> next_row(const Plan& plan, const Layer& layer, const std::vector<float>& y,
                                   Products products) {
  const CsrMatrix& weights = layer.weights;
  std::vector<float> next(layer.outputs());
  for (Index j = 0; j < layer.outputs(); ++j) {
    float z = 0.0F;
    for (Offset k = weights.offsets[j]; k < weights.offsets[j + 1]; ++k) {
      const float input = y[weights.indices[k]];
      const float weight = weights.entry_value(k);
      z = products == Products::fused ? std::fmaf(input, weight, z) : z + input * weight;
    }
    next[j] = activated(plan, z, static_cast<float>(layer.bias[j]));
  }
  return next;
}

/// The last layer's activations (images x stored neurons) in fp32 by plain loops over the terms in the plan's order,
/// which an engine that keeps the order must match to the last bit.
inline std::vector<double> in_order_activations(const Plan& plan, const ImageSet& images, Products products) {
  const CsrMatrix given = images.to_csr();
  const Index width = plan.layers.back().outputs();
  std::vector<double> all(std::size_t{images.images()} * width);
  parallel_for(images.images(), [&](std::size_t image) {
    std::vector<float> row = input_row(given, static_cast<Index>(image));
    for (const Layer& layer : plan.layers) row = next_row(plan, layer, row, products);
    std::copy(row.begin(), row.end(), all.begin() + static_cast<std::ptrdiff_t>(image * width));
  });
  return all;
}

/// Measures of the errors that a comparison of activations would find.
struct Visibility {
  double between = 0;          ///< share of activations strictly between 0 and the cap
  double distinct_values = 0;  ///< in a row, as a share of its neurons, on average
  std::size_t distinct_rows = 0;
};

inline Visibility visibility(const Plan& plan, const std::vector<double>& activations) {
  const double cap = plan.cap.value_or(std::numeric_limits<double>::infinity());
  const std::size_t width = plan.layers.back().outputs();
  Visibility seen;
  std::vector<std::vector<double>> rows;
  std::size_t values = 0;
  for (std::size_t begin = 0; begin < activations.size(); begin += width) {
    rows.emplace_back(activations.begin() + static_cast<std::ptrdiff_t>(begin),
                      activations.begin() + static_cast<std::ptrdiff_t>(begin + width));
    values += std::unordered_set<double>(rows.back().begin(), rows.back().end()).size();
  }
  const auto count = static_cast<double>(activations.size());
  seen.between = static_cast<double>(std::count_if(activations.begin(), activations.end(),
                                                   [&](double y) { return y > 0 && y < cap; })) /
                 count;
  seen.distinct_values = static_cast<double>(values) / count;
  std::sort(rows.begin(), rows.end());
  seen.distinct_rows = static_cast<std::size_t>(std::unique(rows.begin(), rows.end()) - rows.begin());
  return seen;
}

/// The largest difference of two sets of activations, relative to their size where that is above 1.
inline double worst_difference(const std::vector<double>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return std::numeric_limits<double>::infinity();
  double worst = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i)
    worst = std::max(worst, std::abs(got[i] - want[i]) / std::max(1.0, std::abs(want[i])));
  return worst;
}

}  // namespace spdnn::bench
