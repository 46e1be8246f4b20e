#pragma once

#include <vector>

#include "spdnn/plan.hpp"

namespace spdnn {

/// What `inspect` tells of one layer, as given and as stored by its plan.
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
  double distinct_terms = 0;  ///< mean over stored neurons: terms that differ in input or weight
  Index twins = 0;            ///< given neurons that another one is stored for
  Index always_zero = 0;      ///< given neurons proven zero for every image
  Index unread = 0;           ///< given neurons left out because nothing reads them
};

/// One description a layer of the network, with `plan` made for it. Neurons count as twins, always zero or unread as
/// far as the plan's passes looked for them. Cost: sorts the weights where they are not uniform, and the stored terms.
std::vector<LayerDescription> describe(const Network& network, const Plan& plan);

}  // namespace spdnn
