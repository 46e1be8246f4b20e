#pragma once

#include <vector>

#include "core/types/plan.hpp"

namespace spdnn {

/// How often each value occurs.
struct Histogram {
  struct Bin {
    Offset value = 0;
    Offset count = 0;

    bool operator==(const Bin&) const = default;
  };
  std::vector<Bin> bins;  ///< ascending by value, none of them empty

  Histogram() = default;
  explicit Histogram(std::vector<Offset> values);
  /// Counts the other's values too.
  void add(const Histogram& other);

  bool empty() const { return bins.empty(); }
  Offset total() const;  ///< of the counts
  Offset min() const { return empty() ? 0 : bins.front().value; }
  Offset max() const { return empty() ? 0 : bins.back().value; }
  /// The median, the lower one of two; 0 if there is none.
  Offset median() const;
};

/// Counts of a layer: as given, and of its neurons and edges in the plan.
struct LayerCensus {
  Histogram degrees;  ///< inputs of each output neuron, as given
  Histogram readers;  ///< output neurons that read each input, as given; an edge given twice counts twice
  Histogram classes;  ///< given neurons that each stored neuron represents: the sizes of the classes of twins

  /// The given edges by the pass that removes them; the counts sum to their number.
  Offset stored_edges = 0;
  Offset twin_edges = 0;         ///< of neurons that another one represents
  Offset always_zero_edges = 0;  ///< of neurons that are always zero, and those that read such a neuron
  Offset unread_edges = 0;       ///< of neurons that nothing reads, and of their twins
  Offset merged_edges = 0;       ///< taken together with another of the same sum

  /// The given output neurons likewise.
  Offset stored = 0;
  Offset twins = 0;
  Offset always_zero = 0;
  Offset unread = 0;
};

/// One for each layer of the network, for which `plan` was made, in memory. Cost: a pass over the edges on all cores,
/// and eight bytes for each neuron of the layers that are at work.
std::vector<LayerCensus> take_census(const Network& network, const Plan& plan);

/// All of them together.
LayerCensus sum_of(const std::vector<LayerCensus>& layers);

}  // namespace spdnn
