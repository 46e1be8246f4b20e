#include "plan/planner.hpp"

#include "core/out_of_memory.hpp"
#include "plan/passes/merge.hpp"
#include "plan/passes/saturation.hpp"
#include "plan/sweep.hpp"

namespace spdnn {

namespace {

Plan unreduced(const Network& network) {
  Plan plan;
  plan.layers = network.layers;
  plan.bias_rule = network.bias_rule;
  plan.cap = network.cap;
  plan.expansion.resize(network.layers.size());
  plan.provenance.given_edges = network.edges();
  plan.provenance.given_neurons.push_back(network.inputs());
  for (const Layer& layer : network.layers) plan.provenance.given_neurons.push_back(layer.outputs());
  return plan;
}

void stand_aside(Plan& plan, bool Passes::*pass, const std::string& why) {
  plan.passes.*pass = false;
  plan.provenance.notes.push_back(why);
}

void certify_dead(Plan& plan) {
  plan.certificates.dead_from = planning::dead_from(plan.layers, plan.bias_rule);
  if (!plan.passes.dead || plan.certificates.dead_from == 0) return;
  if (plan.certificates.dead_from == plan.depth())
    stand_aside(plan, &Passes::dead, "dead stands aside: a positive bias in the last layer revives rows of zeros");
  else
    plan.provenance.notes.push_back("dead begins after layer " + std::to_string(plan.certificates.dead_from) +
                                    ", where a positive bias revives rows of zeros");
}

void certify_saturated(Plan& plan) {
  plan.certificates.saturated_from = plan.depth();
  if (!plan.passes.saturated || plan.depth() == 0) return;
  if (!plan.cap) {
    stand_aside(plan, &Passes::saturated, "saturated stands aside: there is no cap");
    return;
  }
  if (!planning::certifiable_cap(*plan.cap)) {
    stand_aside(plan, &Passes::saturated, "saturated stands aside: the cap is no fp32 number");
    return;
  }
  plan.certificates.saturated_from = planning::saturated_from(plan.layers, plan.bias_rule, *plan.cap);
  const std::string layer = std::to_string(plan.certificates.saturated_from);
  const std::string why = "where a row at the cap does not provably stay there";
  if (plan.certificates.saturated_from == plan.depth())
    stand_aside(plan, &Passes::saturated, "saturated stands aside because of layer " + layer + ", " + why);
  else if (plan.certificates.saturated_from > 0)
    plan.provenance.notes.push_back("saturated begins after layer " + layer + ", " + why);
}

Plan merge_if_sound(Plan plan) {
  const std::string reason = planning::reason_against_merge(plan);
  if (!reason.empty()) {
    stand_aside(plan, &Passes::merge, "merge stands aside: " + reason);
    return plan;
  }
  Plan merged = planning::merged(plan);
  if (merged.edges() < plan.edges()) return merged;
  stand_aside(plan, &Passes::merge, "merge stands aside: no neuron has equal terms that fp32 can hold as one");
  return plan;
}

}  // namespace

Plan make_plan(const Network& network, const Passes& passes, const planning::TwinFinder& find_twins) {
  return with_memory_for("the network", "cannot plan", [&] {
    Plan plan = unreduced(network);
    plan.provenance.requested = passes;
    plan.passes = passes;
    if (passes.twins || passes.unused) planning::reduce_layers(plan, find_twins);
    certify_dead(plan);
    certify_saturated(plan);
    return passes.merge ? merge_if_sound(std::move(plan)) : plan;
  });
}

}  // namespace spdnn
