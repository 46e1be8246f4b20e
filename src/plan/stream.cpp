#include "plan/stream.hpp"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/background.hpp"
#include "core/types/progress.hpp"
#include "core/types/read_ahead.hpp"
#include "plan/certify.hpp"
#include "plan/magnitudes.hpp"
#include "plan/passes/saturation.hpp"
#include "plan/sweep.hpp"

namespace spdnn {

namespace {

Plan unreduced_stream(const NetworkStream& network, const StreamRoom& room) {
  const std::vector<LayerShape>& shapes = network.layers->shapes();
  Plan plan;
  plan.streamed =
      std::make_shared<const StreamedLayers>(StreamedLayers{network.layers, {}, std::max<Index>(2, room.at_once)});
  plan.bias_rule = network.bias_rule;
  plan.cap = network.cap;
  plan.expansion.resize(shapes.size());
  plan.provenance.given_edges = network.edges();
  plan.provenance.network_digest = network.digest;
  plan.provenance.given_neurons.push_back(network.inputs());
  for (const LayerShape& shape : shapes) plan.provenance.given_neurons.push_back(shape.outputs);
  return plan;
}

/// The layers of a network in order, `count` at a time, which are read while the caller works on those before.
class Pieces {
 public:
  Pieces(const LayerStream& stream, Index count) : stream_(stream), count_(count) { begin(); }

  /// Errors of reading are rethrown. Not after the last layers.
  std::vector<Layer> next() {
    const Stopwatch watch;
    std::vector<Layer> layers = next_->get();
    seconds_waited_ += watch.seconds();
    first_ += static_cast<Index>(layers.size());
    begin();
    return layers;
  }
  double seconds_waited() const { return seconds_waited_; }

 private:
  void begin() {
    next_.reset();
    const Index some = std::min(count_, static_cast<Index>(stream_.shapes().size()) - first_);
    if (some > 0) next_.emplace([this, some](const std::stop_token&) { return stream_.read_some(first_, some); });
  }

  const LayerStream& stream_;
  const Index count_;
  Index first_ = 0;
  double seconds_waited_ = 0;
  std::optional<Background<std::vector<Layer>>> next_;  ///< the last member: its thread uses the others
};

/// Applies twins and unused, and holds the reduced layers in memory. Returns false, with the plan unchanged, if they
/// take more than `most_bytes`.
bool reduce(Plan& plan, std::size_t most_bytes, const ProgressCallback& callback) {
  Plan reduced = plan;
  reduced.streamed = nullptr;
  reduced.provenance.given_edges = 0;
  Pieces pieces(*plan.streamed->stream, std::max<Index>(1, plan.streamed->at_once / 2));
  const planning::TwinFinder by_cpu;
  planning::Sweep sweep(reduced, by_cpu);
  Progress progress(callback, "planning", plan.depth());
  while (reduced.layers.size() < plan.depth()) {
    const std::vector<Layer> given = pieces.next();
    for (const Layer& layer : given) reduced.provenance.given_edges += layer.weights.entries();
    sweep.take(given);
    if (reduced.bytes() > most_bytes) return false;
    progress.update(reduced.layers.size());
  }
  sweep.end();
  reduced.provenance.read_seconds = pieces.seconds_waited();
  plan = std::move(reduced);
  return true;
}

/// A layer of one output neuron, for a layer whose neurons are known from its shape to be alike: certificates and
/// bounds are the same. Empty for other layers.
std::optional<Layer> one_of_all(const LayerShape& shape) {
  if (!shape.weight || !shape.bias || !shape.degree) return std::nullopt;
  const Index rows = std::min<Index>(shape.outputs, 1);
  std::vector<Offset> offsets(std::size_t{rows} + 1, 0);
  offsets.back() = rows * *shape.degree;
  Layer layer{make_csr(rows, shape.inputs, offsets, std::vector<Index>(offsets.back())), {}};
  layer.weights.value = *shape.weight;
  layer.bias.uniform = *shape.bias;
  return layer;
}

/// Finds certificates and bounds.
void survey(Plan& plan, const ProgressCallback& callback) {
  const std::vector<LayerShape>& shapes = plan.streamed->stream->shapes();
  const bool with_caps = plan.passes.saturated && plan.cap && planning::certifiable_cap(*plan.cap);
  std::vector<std::uint8_t> zeros;
  std::vector<std::uint8_t> caps;
  StreamedLayers known = *plan.streamed;
  {
    std::optional<ReadAhead> layers;  // reads ahead from its construction on
    Progress progress(callback, "planning", shapes.size());
    for (Index k = 0; k < shapes.size(); ++k) {
      const std::optional<Layer> one = one_of_all(shapes[k]);
      if (!one && !layers) layers.emplace(plan);
      const Layer layer = one ? *one : layers->layer(k);
      known.bounds.push_back(planning::bounds_of(layer));
      zeros.push_back(planning::zeros_stay(layer, plan.bias_rule) ? 1 : 0);
      caps.push_back(with_caps && planning::caps_stay(layer, plan.bias_rule, *plan.cap) ? 1 : 0);
      progress.update(k + 1);
    }
  }
  plan.streamed = std::make_shared<const StreamedLayers>(std::move(known));
  planning::certify_dead(plan, planning::from_which_on(zeros));
  planning::certify_saturated(plan, [&] { return planning::from_which_on(caps); });
}

}  // namespace

Plan make_plan(const NetworkStream& network, const Passes& passes, const StreamRoom& room,
               const ProgressCallback& progress) {
  return with_memory_for("the network", "cannot plan", [&] {
    Plan plan = unreduced_stream(network, room);
    plan.provenance.requested = passes;
    plan.passes = passes;
    if (passes.merge)
      planning::turn_off(plan, &Passes::merge, "merge is not applied: the network does not fit into memory");
    if (passes.twins || passes.unused) {
      if (reduce(plan, room.plan_bytes, progress)) {
        planning::certify_dead(plan, planning::dead_from(plan.layers, plan.bias_rule));
        planning::certify_saturated(plan,
                                    [&] { return planning::saturated_from(plan.layers, plan.bias_rule, *plan.cap); });
        return plan;
      }
      for (bool Passes::*const pass : {&Passes::twins, &Passes::unused})
        if (plan.passes.*pass)
          planning::turn_off(plan, pass,
                             std::string(pass == &Passes::twins ? "twins" : "unused") +
                                 " is not applied: the layers that it leaves take more than the " +
                                 bytes_text(room.plan_bytes) + " of host memory that are left for it");
    }
    survey(plan, progress);
    return plan;
  });
}

}  // namespace spdnn
