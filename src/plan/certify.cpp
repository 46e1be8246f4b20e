#include "plan/certify.hpp"

#include "plan/passes/saturation.hpp"

namespace spdnn::planning {

void turn_off(Plan& plan, bool Passes::*pass, const std::string& why) {
  plan.passes.*pass = false;
  plan.provenance.notes.push_back(why);
}

void certify_dead(Plan& plan, Index from) {
  plan.certificates.dead_from = from;
  if (!plan.passes.dead || plan.certificates.dead_from == 0) return;
  if (plan.certificates.dead_from == plan.depth())
    turn_off(plan, &Passes::dead, "dead is not applied: a positive bias in the last layer revives rows of zeros");
  else
    plan.provenance.notes.push_back("dead begins after layer " + std::to_string(plan.certificates.dead_from) +
                                    ", where a positive bias revives rows of zeros");
}

void certify_saturated(Plan& plan, const std::function<Index()>& from) {
  plan.certificates.saturated_from = plan.depth();
  if (!plan.passes.saturated || plan.depth() == 0) return;
  if (!plan.cap) {
    turn_off(plan, &Passes::saturated, "saturated is not applied: there is no cap");
    return;
  }
  if (!certifiable_cap(*plan.cap)) {
    turn_off(plan, &Passes::saturated, "saturated is not applied: the cap is no fp32 number");
    return;
  }
  plan.certificates.saturated_from = from();
  const std::string layer = std::to_string(plan.certificates.saturated_from);
  const std::string why = "where a row at the cap does not provably stay there";
  if (plan.certificates.saturated_from == plan.depth())
    turn_off(plan, &Passes::saturated, "saturated is not applied because of layer " + layer + ", " + why);
  else if (plan.certificates.saturated_from > 0)
    plan.provenance.notes.push_back("saturated begins after layer " + layer + ", " + why);
}

}  // namespace spdnn::planning
