#pragma once

#include "core/types/plan.hpp"

#ifdef __CUDACC__
#define SPDNN_HOST_DEVICE __host__ __device__
#else
#define SPDNN_HOST_DEVICE
#endif

namespace spdnn::cuda {

/// The activation function, the same for all layers of a plan: Y = min(cap, max(0, Z + bias)).
struct Activation {
  float cap = 0.0F;         ///< +infinity where the network has none
  bool everywhere = false;  ///< the bias is added to zeros too (BiasRule::everywhere)
  bool watched = false;     ///< watches for sums that are not finite (EngineOptions::may_overflow)

  SPDNN_HOST_DEVICE float operator()(float z, float bias) const {
    if (everywhere || z != 0.0F) z += bias;
    z = z > 0.0F ? z : 0.0F;
    return z < cap ? z : cap;
  }
};

Activation activation_of(const Plan& plan, bool watched = false);

/// Whether Y = min(cap, max(0, Z + bias)) for every sum Z of a layer: the bias is added everywhere, or none is above 0,
/// so that a sum of 0 becomes 0 with and without it.
bool adds_bias_always(const Plan& plan, const Layer& layer);

/// The plan's error bound of layer `number`, rounded up to the next float; 0 without the pass `merge`. All engines that
/// use the bound in fp32 call this, because a bound rounded down would be wrong.
float error_bound_of(const Plan& plan, Index number);

}  // namespace spdnn::cuda
