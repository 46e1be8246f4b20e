#include "plan/certify.hpp"

#include "plan/passes/saturation.hpp"

namespace spdnn::planning {

void stand_aside(Plan& plan, bool Passes::*pass, const std::string& why) {
  plan.passes.*pass = false;
  plan.provenance.notes.push_back(why);
}

void certify_dead(Plan& plan, Index from) {
  plan.certificates.dead_from = from;
  if (!plan.passes.dead || plan.certificates.dead_from == 0) return;
  if (plan.certificates.dead_from == plan.depth())
    stand_aside(plan, &Passes::dead, "dead stands aside: a positive bias in the last layer revives rows of zeros");
  else
    plan.provenance.notes.push_back("dead begins after layer " + std::to_string(plan.certificates.dead_from) +
                                    ", where a positive bias revives rows of zeros");
}

void certify_saturated(Plan& plan, const std::function<Index()>& from) {
  plan.certificates.saturated_from = plan.depth();
  if (!plan.passes.saturated || plan.depth() == 0) return;
  if (!plan.cap) {
    stand_aside(plan, &Passes::saturated, "saturated stands aside: there is no cap");
    return;
  }
  if (!certifiable_cap(*plan.cap)) {
    stand_aside(plan, &Passes::saturated, "saturated stands aside: the cap is no fp32 number");
    return;
  }
  plan.certificates.saturated_from = from();
  const std::string layer = std::to_string(plan.certificates.saturated_from);
  const std::string why = "where a row at the cap does not provably stay there";
  if (plan.certificates.saturated_from == plan.depth())
    stand_aside(plan, &Passes::saturated, "saturated stands aside because of layer " + layer + ", " + why);
  else if (plan.certificates.saturated_from > 0)
    plan.provenance.notes.push_back("saturated begins after layer " + layer + ", " + why);
}

}  // namespace spdnn::planning
