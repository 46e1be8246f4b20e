#include "plan/planner.hpp"

#include "core/system/out_of_memory.hpp"
#include "plan/certify.hpp"
#include "plan/passes/merge.hpp"
#include "plan/passes/saturation.hpp"
#include "plan/sweep.hpp"

namespace spdnn {

namespace {

/// Without layers.
Plan unreduced(const Network& network) {
  Plan plan;
  plan.bias_rule = network.bias_rule;
  plan.cap = network.cap;
  plan.expansion.resize(network.layers.size());
  plan.provenance.given_edges = network.edges();
  plan.provenance.given_neurons.push_back(network.inputs());
  for (const Layer& layer : network.layers) plan.provenance.given_neurons.push_back(layer.outputs());
  return plan;
}

Plan merge_if_sound(Plan plan) {
  const std::string reason = planning::reason_against_merge(plan);
  if (!reason.empty()) {
    planning::turn_off(plan, &Passes::merge, "merge is not applied: " + reason);
    return plan;
  }
  Plan merged = planning::merged(plan);
  if (merged.edges() < plan.edges()) return merged;
  planning::turn_off(plan, &Passes::merge, "merge is not applied: no neuron has equal terms that fp32 can hold as one");
  return plan;
}

}  // namespace

Plan make_plan(const Network& network, const Passes& passes, const planning::TwinFinder& find_twins) {
  return with_memory_for("the network", "cannot plan", [&] {
    Plan plan = unreduced(network);
    plan.provenance.requested = passes;
    plan.passes = passes;
    if (passes.twins || passes.unused) {
      planning::Sweep sweep(plan, find_twins);
      sweep.take(network.layers);
      sweep.end();
    } else {
      plan.layers = network.layers;
    }
    planning::certify_dead(plan, planning::dead_from(plan.layers, plan.bias_rule));
    planning::certify_saturated(plan, [&] { return planning::saturated_from(plan.layers, plan.bias_rule, *plan.cap); });
    return passes.merge ? merge_if_sound(std::move(plan)) : plan;
  });
}

}  // namespace spdnn
