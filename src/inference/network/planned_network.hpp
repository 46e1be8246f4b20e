#pragma once

#include "core/types/plan.hpp"
#include "spdnn/planned_network.hpp"

namespace spdnn {

/// The state shared by copies.
struct PlannedNetwork::Contents {
  Network network;
  Plan plan;
  bool official = false;  ///< by the network's digest
  bool planned_on_cuda = false;
};

}  // namespace spdnn
