// The comparison of a run with the reference node by node.

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <set>
#include <vector>

#include "core/threads/cancellation.hpp"
#include "core/types/progress.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/run.hpp"
#include "inference/model/verify.hpp"
#include "model/graph/node_text.hpp"
#include "model/graph/quantised.hpp"
#include "model/graph/uses.hpp"
#include "model/oracle/evaluate.hpp"

namespace spdnn {

namespace {

/// The same model, whose outputs are those of the nodes kept.
std::shared_ptr<const Model> opened(const Model& model, const std::vector<std::size_t>& kept) {
  auto open = std::make_shared<Model>(model);
  open->outputs.clear();
  for (const std::size_t n : kept) open->outputs.push_back(open->nodes[n].output);
  return open;
}

/// All nodes but those within a value that is quantised: int8 kernels read only what one step has quantised.
std::vector<std::size_t> all_nodes(const Model& model) {
  std::vector<bool> within(model.nodes.size());
  for (const QuantisedValue& value : quantised_values(model))
    for (const std::size_t n : value.nodes) within[n] = n != value.last();
  std::vector<std::size_t> nodes;
  for (std::size_t n = 0; n < within.size(); ++n)
    if (!within[n]) nodes.push_back(n);
  return nodes;
}

/// Those that end a quantised value or make an output, so that all is fused between them as in any run.
std::vector<std::size_t> ends_of_quantised(const Model& model) {
  std::set<std::size_t> nodes;
  for (const QuantisedValue& value : quantised_values(model)) nodes.insert(value.last());
  if (nodes.empty()) return {};
  const ValueUses uses = uses_of(model);
  for (const ValueId output : model.outputs)
    if (uses.maker[output]) nodes.insert(*uses.maker[output]);
  return {nodes.begin(), nodes.end()};
}

/// Compares the outputs of the nodes kept, each computed of those before it.
void compare_nodes(const Model& model, const Tensor& images, const std::vector<std::size_t>& kept,
                   const std::vector<Tensor>& outputs, const std::function<bool()>& cancelled, NodeCheck& check) {
  auto next = kept.begin();
  evaluate_nodes(model, {images}, cancelled, [&](std::size_t n, const auto& /*read*/, Bounded& value) {
    if (next == kept.end() || *next != n) return;
    const Tensor& found = outputs[next++ - kept.begin()];
    const double ratio = largest_ratio(value, found.values.span());
    if (check.worst.empty() || ratio > check.largest_ratio) {
      check.largest_ratio = ratio;
      check.worst = node_text(model, n);
    }
    value = exactly(found);
  });
}

/// The largest deviation of an output kept from that of the run.
double off_the_run(const Model& open, const std::vector<Tensor>& outputs, const Model& model,
                   const std::vector<ModelOutput>& given, Index first, Index count) {
  double largest = 0;
  for (std::size_t o = 0; o < given.size(); ++o) {
    const auto found = std::find(open.outputs.begin(), open.outputs.end(), model.outputs[o]);
    if (found == open.outputs.end()) continue;
    const Tensor of_the_run = images_from(given[o].values, first, count);
    const Tensor& again = outputs[found - open.outputs.begin()];
    largest = std::max(largest, largest_difference(again.values.span(), of_the_run.values.span()));
  }
  return largest;
}

}  // namespace

NodeCheck check_nodes(const ModelVariant& variant, const Model& model, const Tensor& images, Index count,
                      const std::vector<ModelOutput>& given, ModelEngineOptions options,
                      const ProgressCallback& progress) {
  constexpr Index kKeptAtOnce = 4;  ///< of these images all values are held in fp32, and some in fp64
  const Index step = fixed_batch(model).value_or(std::min(kKeptAtOnce, count));
  options.kernels_for = options.images_for_kernels();  // those of the run
  options.batch = step;
  options.profile = false;
  const std::vector<std::size_t> all = all_nodes(model);
  const std::vector<std::size_t> ends = ends_of_quantised(model);
  NodeCheck check;
  check.nodes = all.size();
  check.images = fixed_batch(model) ? (count + step - 1) / step * step : count;
  Cancellation cancellation(options.cancelled);
  for (const auto* kept : {&all, &ends}) {
    if (kept->empty()) continue;
    const std::shared_ptr<const Model> open = opened(model, *kept);
    const auto engine = make_engine(variant, open, options);
    Progress task(progress, kept == &all ? "verify nodes" : "verify quantised values", count);
    for (Index first = 0; first < count; first += step) {
      cancellation.check();
      const Index some = fixed_batch(model) ? step : std::min(step, count - first);
      const Tensor batch = images_from(images, first, some);
      engine->load(batch);
      const auto nodes = static_cast<Index>(model.nodes.size());
      for (Index node = 0; node < nodes;) node = engine->advance(node, nodes);
      const std::vector<Tensor> outputs = engine->outputs();
      compare_nodes(model, batch, *kept, outputs, options.cancelled, check);
      check.largest_difference =
          std::max(check.largest_difference, off_the_run(*open, outputs, model, given, first, some));
      task.update(std::min(first + step, count));
    }
  }
  return check;
}

}  // namespace spdnn
