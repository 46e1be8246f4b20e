#include "inference/prune/prune_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "core/text/amounts.hpp"
#include "inference/model/runnable.hpp"
#include "inference/prune/value_run.hpp"
#include "model/graph/node_text.hpp"
#include "model/rewrites/channels.hpp"
#include "prune/batch_norms.hpp"
#include "prune/quantise.hpp"
#include "prune/samples.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Samples for each column of X'X: more make the fit better, and cost in proportion.
constexpr std::size_t kSamplesPerColumn = 8;
/// A layer with more columns would need more than 1 GiB for X'X.
constexpr Index kMostColumns = 16384;

std::size_t samples_per_image(const Operation& operation, Index images) {
  return (kSamplesPerColumn * layer_extents(operation).cols + images - 1) / images;
}

Offset weights_in(const Operation& operation) {
  const LayerExtents layer = layer_extents(operation);
  return Offset{layer.rows} * layer.cols;
}

Offset kept_of(Offset weights, double share) {
  return weights - static_cast<Offset>(std::llround(share * static_cast<double>(weights)));
}

/// By group and column, the root mean square of what a weight of the node multiplies.
std::vector<float> factors_of(const Model& model, std::size_t n, const Tensor& images, const EngineSettings& settings) {
  const Node& node = model.nodes[n];
  const LayerExtents layer = layer_extents(node.operation);
  const ValuesRun run(model, {node.inputs.front(), node.output}, settings);
  const std::size_t per_image = samples_per_image(node.operation, static_cast<Index>(images.shape[0]));
  std::vector<ColumnSquares> squares(layer.groups, ColumnSquares(layer.cols));
  for_some_images(model, images, [&](Index first, const Tensor& some) {
    const std::vector<Tensor> found = run(some);
    for (Index g = 0; g < layer.groups; ++g)
      squares[g].add(samples_of(node.operation, found[0], found[1], g, per_image, first));
  });
  std::vector<float> factors;
  for (const ColumnSquares& group : squares) {
    const std::vector<float> roots = group.roots();
    factors.insert(factors.end(), roots.begin(), roots.end());
  }
  return factors;
}

/// Fits the weights of a node; returns its error before and after. DataError if the equations are not finite.
std::pair<double, double> fit_weights(Model& model, std::size_t n, std::span<const NormalEquations> equations) {
  const SumsView sums = sums_of(model.nodes[n].operation);
  Repaired fitted = repaired(*sums.weights, *sums.bias, equations);
  if (!std::isfinite(fitted.error_before))
    throw DataError(node_text(model, n) +
                    ": what it reads and computes of the calibration images is too large to fit weights to it");
  *sums.weights = std::move(fitted.weights);
  *sums.bias = std::move(fitted.bias);
  return {fitted.error_before, fitted.error_after};
}

}  // namespace

std::vector<std::size_t> prunable_nodes(const Model& model) {
  std::vector<std::size_t> nodes;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    const Weights* const weights = weights_or_null(model.nodes[n].operation);
    if (weights != nullptr && weights->cols() >= kFewWeights) nodes.push_back(n);
  }
  return nodes;
}

Pruner::Pruner(Model dense, PruneSettings settings, Tensor calibration)
    : dense_(std::move(dense)),
      settings_(std::move(settings)),
      calibration_(std::move(calibration)),
      scores_(dense_.nodes.size()) {
  require_plain_weights(dense_, "pruned");
  dense_.program.reset();
  if (!calibration_.values.empty())
    if (const std::string why_not = why_not_runnable(dense_); !why_not.empty()) throw UsageError(why_not);
  for (std::size_t n = 0; n < dense_.nodes.size(); ++n) {
    const Operation& operation = dense_.nodes[n].operation;
    if (weights_or_null(operation) == nullptr) continue;
    const std::vector<float> factors =
        settings_.by_activations ? factors_of(dense_, n, calibration_, settings_) : std::vector<float>();
    scores_[n] = scores_of(*matrix_or_null(operation), factors, layer_extents(operation).groups);
  }
}

Shares Pruner::shares_of(const WantedShare& wanted) const {
  Shares shares(dense_.nodes.size());
  const std::vector<std::size_t> nodes = prunable_nodes(dense_);
  if (!wanted.global) {
    for (const std::size_t n : nodes) shares[n] = wanted.share;
    return shares;
  }
  std::vector<std::vector<float>> scores;
  Offset weights = 0;
  for (const std::size_t n : nodes) {
    scores.push_back(scores_[n]);
    weights += weights_in(dense_.nodes[n].operation);
  }
  const std::vector<Offset> keep = shared_out(scores, kept_of(weights, wanted.share));
  for (std::size_t i = 0; i < nodes.size(); ++i)
    shares[nodes[i]] =
        1 - static_cast<double>(keep[i]) / static_cast<double>(weights_in(dense_.nodes[nodes[i]].operation));
  return shares;
}

CsrMatrix Pruner::selected(std::size_t node, double share) const {
  const Operation& operation = dense_.nodes[node].operation;
  return kept(*matrix_or_null(operation), scores_[node], settings_.structure, kept_of(weights_in(operation), share),
              layer_extents(operation).taps);
}

Model Pruner::masked(const Shares& shares) const {
  Model model = dense_;
  for (std::size_t n = 0; n < shares.size(); ++n)
    if (shares[n]) *sums_of(model.nodes[n].operation).weights = selected(n, *shares[n]);
  return model;
}

PrunedModel Pruner::pruned(const Shares& shares) const {
  PrunedModel result{masked(shares), {}, {}};
  for (std::size_t n = 0; n < shares.size(); ++n)
    if (shares[n]) result.nodes.push_back({.node = n, .error_before = {}, .error_after = {}});
  if (result.nodes.empty()) return result;
  for (std::size_t n = result.nodes.front().node; n < dense_.nodes.size(); ++n) {
    if (settings_.repair_weights && shares[n]) repair(result, n);
    if (settings_.repair_norms && std::holds_alternative<BatchNorm>(dense_.nodes[n].operation))
      repair_norm(result.model, n);
  }
  return result;
}

bool Pruner::repairs(std::size_t n) const {
  return settings_.repair_weights && layer_extents(dense_.nodes[n].operation).cols <= kMostColumns;
}

Pruner::Equations Pruner::equations_of(const Model& pruned, std::size_t n) const {
  if (!repairs(n)) return {};
  const Node& node = dense_.nodes[n];
  const LayerExtents layer = layer_extents(node.operation);
  const bool has_bias = !bias_of(node.operation).empty();
  const ValuesRun read(pruned, {node.inputs.front()}, settings_);
  const ValuesRun wanted(dense_, {node.output}, settings_);
  const std::size_t per_image = samples_per_image(node.operation, static_cast<Index>(calibration_.shape[0]));
  Equations groups(layer.groups, NormalEquations(layer.cols, layer.rows / layer.groups, has_bias));
  for_some_images(dense_, calibration_, [&](Index first, const Tensor& some) {
    const Tensor x = read(some).front();
    const Tensor y = wanted(some).front();
    for (Index g = 0; g < layer.groups; ++g) groups[g].add(samples_of(node.operation, x, y, g, per_image, first));
  });
  return groups;
}

Model Pruner::pruned_alone(std::size_t n, double share, const Equations& equations) const {
  Shares alone(dense_.nodes.size());
  alone[n] = share;
  Model model = masked(alone);
  if (!equations.empty()) fit_weights(model, n, equations);
  return model;
}

void Pruner::repair(PrunedModel& pruned, std::size_t n) const {
  if (!repairs(n)) {
    pruned.notes.push_back(fmt::format("{}: not repaired, as filters of {} weights are more than {}",
                                       node_text(pruned.model, n), layer_extents(dense_.nodes[n].operation).cols,
                                       kMostColumns));
    return;
  }
  const auto [before, after] = fit_weights(pruned.model, n, equations_of(pruned.model, n));
  const auto found =
      std::find_if(pruned.nodes.begin(), pruned.nodes.end(), [&](const NodePruning& one) { return one.node == n; });
  found->error_before = before;
  found->error_after = after;
}

void Pruner::repair_norm(Model& model, std::size_t n) const {
  const Node& node = model.nodes[n];
  const ValuesRun before(dense_, {node.inputs.front()}, settings_);
  const ValuesRun now(model, {node.inputs.front()}, settings_);
  ChannelMoments moments_before;
  ChannelMoments moments_now;
  for_some_images(dense_, calibration_, [&](Index, const Tensor& some) {
    moments_before.add(before(some).front());
    moments_now.add(now(some).front());
  });
  model.nodes[n].operation = matched(std::get<BatchNorm>(node.operation), moments_before, moments_now);
}

}  // namespace spdnn
