#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/types/layer_stream.hpp"
#include "spdnn/network.hpp"
#include "spdnn/passes.hpp"

namespace spdnn {

/// Values of Plan::expansion besides numbers of stored neurons.
inline constexpr Index kAlwaysZero = std::numeric_limits<Index>::max();       ///< neuron proven zero for every image
inline constexpr Index kNotComputed = std::numeric_limits<Index>::max() - 1;  ///< neuron that nothing reads

/// Facts about a layer from which bounds on its sums follow.
struct LayerBounds {
  double absolute = 0;  ///< largest sum of the absolute weights of an output neuron
  double terms = 0;     ///< most inputs of an output neuron
  double least_bias = 0;
  double most_bias = 0;
};

/// Layers that do not fit into memory: they are read when they are needed.
struct StreamedLayers {
  std::shared_ptr<const LayerStream> stream;
  std::vector<LayerBounds> bounds;  ///< by layer, found when the plan was made
  Index at_once = 2;                ///< layers that may be in memory at a time, those that are read ahead included

  /// Their bytes in memory.
  std::size_t bytes() const { return at_once * stream->largest_layer_bytes(); }
};

/// Layers over *stored* neurons, one after another.
struct LayerChain {
  std::vector<Layer> layers;
  std::shared_ptr<const StreamedLayers> streamed;  ///< in place of `layers`, which then is empty; otherwise null
  BiasRule bias_rule = BiasRule::non_zeros;
  std::optional<double> cap;

  Index inputs() const { return depth() == 0 ? 0 : shape(0).inputs; }
  Index depth() const { return static_cast<Index>(streamed ? streamed->stream->shapes().size() : layers.size()); }
  LayerShape shape(Index k) const { return streamed ? streamed->stream->shapes()[k] : shape_of(layers[k]); }
  Index outputs(Index k) const { return shape(k).outputs; }
  std::pair<double, double> bias_range(Index k) const;  ///< least and most of layer k's biases
  Offset edges() const;
  Index max_outputs() const;  ///< neurons of the widest layer, the inputs of the first not counted
  Index max_width() const;    ///< the same with the inputs of the first counted
};

/// From which layer on a row of activations can be retired. depth() is always right: no layer follows.
struct Certificates {
  /// Rows of zeros that enter this layer or a later one come out as zeros.
  Index dead_from = 0;
  /// Rows all at the cap that enter this layer or a later one come out all at the cap, in any order of summation in
  /// fp32 or better.
  Index saturated_from = 0;
};

struct Plan;

/// The data with which a plan with `merge` decides images whose category depends on rounding.
struct Fallback {
  /// How far any Z + bias of layer k, computed in fp32 from the merged plan, may lie from the value that the order of
  /// the given network yields, for images with values in [0, 1]. A row of zeros is dead only when its largest Z + bias
  /// is at most -error_bounds[k], a row at the cap saturated only when its smallest is at least cap + bound; images
  /// that end without either are borderline and are run again on `in_order`.
  std::vector<double> error_bounds;
  std::shared_ptr<const Plan> in_order;  ///< the same plan without `merge`
};

/// The origin of the plan, for reports, rates and files. Engines do not read it.
struct Provenance {
  Passes requested;
  std::vector<std::string> notes;    ///< why a requested pass is not applied, or begins late
  Offset given_edges = 0;            ///< edges of the network as given, which rates count
  std::vector<Index> given_neurons;  ///< inputs, then outputs of each layer as given
  std::uint64_t network_digest = 0;  ///< identifies the given network; a stored plan is refused for another
  double read_seconds = 0;           ///< that planning waited for layers, which it read
};

/// The input of an engine. An unreduced network is a plan too. The first layer's inputs are the images' neurons,
/// unreduced. Inputs of a row may repeat and need not ascend: terms are in the order of the given network's sum, so a
/// plan without `merge` computes every stored activation bit for bit as the given network would.
struct Plan : LayerChain {
  Passes passes;  ///< those in force: an inapplicable pass is off
  Certificates certificates;
  std::optional<Fallback> fallback;  ///< with `merge`, and only then
  /// For each layer, the stored neuron that holds each given output neuron; an empty array means identity.
  std::vector<Array<Index>> expansion;
  Provenance provenance;

  /// The plan's bytes in memory.
  std::size_t bytes() const;
  /// Says for which network the plan was made, here and in the plan that it falls back on.
  void set_network_digest(std::uint64_t digest);
};

}  // namespace spdnn
