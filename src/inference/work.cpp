#include "inference/work.hpp"

#include <algorithm>
#include <stdexcept>

namespace spdnn {

Plan plan_from(const Plan& plan, Index layer) {
  if (layer == 0) return plan;
  if (plan.fallback) throw std::logic_error("plan_from: a plan with merge is run from the first layer on");
  Plan rest = plan;
  rest.layers.erase(rest.layers.begin(), rest.layers.begin() + layer);
  rest.expansion.erase(rest.expansion.begin(), rest.expansion.begin() + layer);
  for (Index* from : {&rest.certificates.dead_from, &rest.certificates.saturated_from}) *from -= std::min(*from, layer);
  return rest;
}

}  // namespace spdnn
