#pragma once

#include <string>
#include <vector>

#include "core/types/plan.hpp"
#include "spdnn/planned_network.hpp"

namespace spdnn {

/// One description per layer of the network, for which `plan` was made. Neurons count as twins, always zero or unread
/// only if the plan's passes searched for them. Cost: sorts the stored terms, and the weights if they are not uniform.
std::vector<LayerDescription> describe(const Network& network, const Plan& plan);

/// Layers with equal descriptions, anywhere in the network.
struct LayerKind {
  LayerDescription layer;
  Index first = 0;  ///< 1-based number of the first of them
  Index count = 0;
  double distinct_terms = 0;  ///< summed
};

/// In the order of their first layers.
std::vector<LayerKind> kinds_of(const std::vector<LayerDescription>& layers);

/// When images may leave according to a certificate, Certificates::dead_from or saturated_from, of a plan of this
/// depth.
std::string certificate_text(Index from, Index depth);

}  // namespace spdnn
