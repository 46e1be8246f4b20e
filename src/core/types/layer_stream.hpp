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
  Offset edges = 0;              ///< for a stream of text layers: an estimate from the sizes of the files
  std::optional<float> weight;   ///< of every edge, if it is stored once
  std::optional<double> bias;    ///< of every output neuron, if it is stored once
  std::optional<Offset> degree;  ///< of every output neuron, if it is known to be the same

  /// The layer's bytes in memory.
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

  /// A checked copy of layer k: DataError if its file is wrong. Threads may call this at any time; it uses all
  /// processors.
  virtual Layer read(Index k) const = 0;
  /// Such copies of `count` layers, from `first` on, in parallel where they are many.
  virtual std::vector<Layer> read_some(Index first, Index count) const;
  /// Bytes read from the file so far, if there is one.
  virtual std::uint64_t bytes_read() const { return 0; }

 private:
  std::vector<LayerShape> shapes_;
};

/// A network whose layers are not in memory.
struct NetworkStream {
  std::shared_ptr<const LayerStream> layers{};
  BiasRule bias_rule = BiasRule::non_zeros;
  std::optional<double> cap{};
  std::uint64_t digest = 0;  ///< as the file has it; 0: not known

  Index inputs() const { return layers->shapes().empty() ? 0 : layers->shapes().front().inputs; }
  Index depth() const { return static_cast<Index>(layers->shapes().size()); }
  Offset edges() const;
  /// The network's bytes in memory.
  std::size_t bytes() const;
};

}  // namespace spdnn
