#include "engines/cuda/layers/activation.hpp"

#include <cmath>
#include <limits>

namespace spdnn::cuda {

Activation activation_of(const Plan& plan, bool watched) {
  return {.cap = plan.cap ? static_cast<float>(*plan.cap) : std::numeric_limits<float>::infinity(),
          .everywhere = plan.bias_rule == BiasRule::everywhere,
          .watched = watched};
}

bool adds_bias_always(const Plan& plan, const Layer& layer) {
  return plan.bias_rule == BiasRule::everywhere || layer.bias.max() <= 0;
}

float error_bound_of(const Plan& plan, Index number) {
  if (!plan.passes.merge) return 0.0F;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return std::nextafter(static_cast<float>(plan.fallback->error_bounds.at(number)), kInfinity);
}

}  // namespace spdnn::cuda
