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

/// One layer, as given and as its plan stores it.
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

/// A network in memory with its plan, which is made once and then runs in any number of inferences
/// (Inference::load). Copies share both.
class PlannedNetwork {
 public:
  /// Applies the exact passes. Twins are looked for on `device`; empty: on the CPU. std::invalid_argument where the
  /// network is not valid, Unsupported or DeviceError where the device cannot be used.
  PlannedNetwork(Network network, const Passes& passes, const std::optional<Device>& device = {});

  const Network& network() const;
  const Passes& passes() const;                   ///< in force: those that had to stand aside are off
  const std::vector<std::string>& notes() const;  ///< why a pass stands aside, or begins late
  Offset stored_edges() const;                    ///< that the plan computes per image, of network().edges()
  /// The layers before which images may leave, 0-based; the number of layers: they may not.
  Index dead_from() const;
  Index saturated_from() const;
  /// Layer by layer. Cost: sorts the stored terms, and the weights where they are not uniform.
  std::vector<LayerDescription> describe() const;

 private:
  friend class Inference;
  struct Contents;
  std::shared_ptr<const Contents> contents_;
};

}  // namespace spdnn
