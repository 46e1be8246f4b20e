#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/network.hpp"
#include "spdnn/outcome.hpp"
#include "spdnn/passes.hpp"

namespace spdnn {

/// A layer as given and as stored by its plan.
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
  Index unread = 0;           ///< given neurons removed because nothing reads them
};

/// A network in memory with its plan, made once for any number of inferences (Inference::load). Copies share both.
class PlannedNetwork {
 public:
  /// Applies the exact passes. `device` searches for twins; empty: the CPU. std::invalid_argument if the network is
  /// invalid, Unsupported or DeviceError if the device cannot be used.
  PlannedNetwork(Network network, const Passes& passes, const std::optional<Device>& device = {});

  const Network& network() const;
  const Passes& passes() const;                   ///< in force: inapplicable ones are off
  const std::vector<std::string>& notes() const;  ///< why a pass is not applied, or begins late
  Offset stored_edges() const;                    ///< edges of the plan, per image
  /// The first layer, 0-based, before which images may leave; the number of layers if there is none.
  Index dead_from() const;
  Index saturated_from() const;
  /// Layer by layer. Cost: sorts the stored terms, and the weights if they are not uniform.
  std::vector<LayerDescription> describe() const;

 private:
  friend class Inference;
  friend class NetworkSession;
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace spdnn
