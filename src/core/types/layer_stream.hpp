#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "spdnn/network.hpp"

namespace spdnn {

/// A layer without its arrays.
struct LayerShape {
  Index inputs = 0;
  Index outputs = 0;
  Offset edges = 0;              ///< of a stream of text layers: as many as the sizes of the files suggest
  std::optional<float> weight;   ///< of every edge, where that is stored once
  std::optional<double> bias;    ///< of every output neuron, where that is stored once
  std::optional<Offset> degree;  ///< of every output neuron, where it is known to be the same

  /// What the layer takes in memory.
  std::size_t bytes() const;
};

/// All but the degree, which takes a pass over the offsets.
LayerShape shape_of(const Layer& layer);

/// Layers that are not in memory, but made one at a time, for instance read from a file.
class LayerStream {
 public:
  explicit LayerStream(std::vector<LayerShape> shapes) : shapes_(std::move(shapes)) {}
  virtual ~LayerStream() = default;
  LayerStream(const LayerStream&) = delete;
  LayerStream& operator=(const LayerStream&) = delete;

  const std::vector<LayerShape>& shapes() const { return shapes_; }
  /// The largest that a layer takes in memory.
  std::size_t largest_layer_bytes() const;

  /// Layer k in memory of its own, checked: a DataError where its file is wrong. Threads may call this at any time; it
  /// uses all processors.
  virtual Layer read(Index k) const = 0;
  /// How much has been read from a file so far, if there is one.
  virtual std::uint64_t bytes_read() const { return 0; }

 private:
  std::vector<LayerShape> shapes_;
};

/// A network whose layers are not in memory.
struct NetworkStream {
  std::shared_ptr<const LayerStream> layers;
  BiasRule bias_rule = BiasRule::non_zeros;
  std::optional<double> cap{};
  std::uint64_t digest = 0;  ///< as the file has it; 0: not known

  Index inputs() const { return layers->shapes().empty() ? 0 : layers->shapes().front().inputs; }
  Index depth() const { return static_cast<Index>(layers->shapes().size()); }
  Offset edges() const;
  /// What the network would take in memory.
  std::size_t bytes() const;
};

}  // namespace spdnn
