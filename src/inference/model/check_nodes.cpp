// The comparison of a run with the reference node by node.

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "core/threads/cancellation.hpp"
#include "core/types/progress.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/run.hpp"
#include "inference/model/verify.hpp"
#include "model/graph/node_text.hpp"
#include "model/oracle/evaluate.hpp"

namespace spdnn {

namespace {

/// The same model, of which every node's output is one of the model's.
std::shared_ptr<const Model> opened(const Model& model) {
  auto open = std::make_shared<Model>(model);
  open->outputs.clear();
  for (const Node& node : open->nodes) open->outputs.push_back(node.output);
  return open;
}

/// By output, the number of the node that makes it; that of all nodes if none does.
std::vector<std::size_t> nodes_of_outputs(const Model& model) {
  std::vector<std::size_t> numbers;
  for (const ValueId output : model.outputs)
    numbers.push_back(
        std::find_if(model.nodes.begin(), model.nodes.end(), [&](const Node& node) { return node.output == output; }) -
        model.nodes.begin());
  return numbers;
}

/// Compares the outputs of all nodes, once they are computed.
void compare_nodes(const Model& model, const Tensor& images, const std::vector<Tensor>& outputs,
                   Cancellation& cancellation, NodeCheck& check) {
  std::vector<const Tensor*> values(model.values.size());
  for (std::size_t id = 0; id < values.size(); ++id)
    if (model.values[id].constant) values[id] = &*model.values[id].constant;
  values[model.inputs.front()] = &images;
  for (std::size_t n = 0; n < model.nodes.size(); ++n) {
    cancellation.check();
    const Node& node = model.nodes[n];
    std::vector<Bounded> exact;
    exact.reserve(node.inputs.size());
    for (const ValueId id : node.inputs) exact.push_back(exactly(*values[id]));
    std::vector<const Bounded*> inputs(exact.size());
    std::transform(exact.begin(), exact.end(), inputs.begin(), [](const Bounded& one) { return &one; });
    const double ratio = largest_ratio(evaluate(node.operation, inputs), outputs[n].values.span());
    if (check.worst.empty() || ratio > check.largest_ratio) {
      check.largest_ratio = ratio;
      check.worst = node_text(model, n);
    }
    values[node.output] = &outputs[n];
  }
}

}  // namespace

NodeCheck check_nodes(const ModelVariant& variant, const Model& model, const Tensor& images, Index count,
                      const std::vector<ModelOutput>& given, ModelEngineOptions options,
                      const ProgressCallback& progress) {
  constexpr Index kKeptAtOnce = 4;  ///< of these images all values are held in fp32, and of one node in fp64
  const Index step = fixed_batch(model).value_or(std::min(kKeptAtOnce, count));
  options.kernels_for = options.images_for_kernels();  // those of the run
  options.batch = step;
  options.profile = false;
  const std::shared_ptr<const Model> open = opened(model);
  const auto engine = make_engine(variant, open, options);
  const std::vector<std::size_t> made_by = nodes_of_outputs(model);
  NodeCheck check;
  check.nodes = model.nodes.size();
  Cancellation cancellation(options.cancelled);
  Progress task(progress, "verify nodes", count);
  for (Index first = 0; first < count; first += step) {
    cancellation.check();
    const Index some = fixed_batch(model) ? step : std::min(step, count - first);
    const Tensor batch = images_from(images, first, some);
    engine->load(batch);
    const auto nodes = static_cast<Index>(model.nodes.size());
    for (Index node = 0; node < nodes;) node = engine->advance(node, nodes);
    const std::vector<Tensor> outputs = engine->outputs();
    compare_nodes(model, batch, outputs, cancellation, check);
    check.images += some;
    for (std::size_t o = 0; o < given.size(); ++o) {
      if (made_by[o] == outputs.size()) continue;
      const Tensor of_the_run = images_from(given[o].values, first, some);
      check.largest_difference = std::max(
          check.largest_difference, largest_difference(outputs[made_by[o]].values.span(), of_the_run.values.span()));
    }
    task.update(std::min(first + step, count));
  }
  return check;
}

}  // namespace spdnn
