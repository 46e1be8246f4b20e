#pragma once

#include <vector>

#include "spdnn/plan.hpp"

namespace spdnn {

/// What `inspect` says about one layer, as given and as its plan stores it.
struct LayerDescription {
  Index inputs = 0;   ///< given
  Index outputs = 0;  ///< given
  Offset edges = 0;   ///< given
  Offset min_degree = 0;
  Offset max_degree = 0;
  double mean_degree = 0;
  double density = 0;                ///< edges / (inputs x outputs)
  std::size_t distinct_weights = 0;  ///< different values among the given weights

  Index stored_outputs = 0;
  Offset stored_edges = 0;
  double distinct_terms = 0;  ///< mean over the stored neurons of their terms that differ in input or weight
  Index twins = 0;            ///< given neurons that another neuron represents
  Index always_zero = 0;      ///< given neurons proven zero for every image
  Index unread = 0;           ///< given neurons that are left out because nothing reads them
};

/// One description per layer of the network, for which `plan` was made. Neurons count as twins, always zero or unread
/// only as far as the plan's passes looked for them. Cost: sorts the stored terms, and the weights where they are not
/// uniform.
std::vector<LayerDescription> describe(const Network& network, const Plan& plan);

}  // namespace spdnn
