#pragma once

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/types/layer_stream.hpp"
#include "plan/stream.hpp"
#include "spdnn/error.hpp"
#include "spdnn/network.hpp"

namespace spdnn::testing {

/// A network's layers, copied one at a time. Counts the copies that are in memory at once.
class CopiedLayers final : public LayerStream {
 public:
  static constexpr Index kNone = std::numeric_limits<Index>::max();

  /// Reading layer `broken` throws.
  explicit CopiedLayers(std::vector<Layer> layers, Index broken = kNone)
      : LayerStream(shapes_of(layers)), layers_(std::move(layers)), broken_(broken) {}

  Layer read(Index k) const override {
    if (k == broken_) throw DataError("layer is broken");
    ++reads_;
    Layer layer = layers_[k];
    const auto count = count_;
    const int now = ++count->now;
    for (int most = count->most; now > most && !count->most.compare_exchange_weak(most, now);) {
    }
    const auto storage =
        std::shared_ptr<Index[]>(new Index[std::max<Offset>(1, layer.weights.entries())], [count](const Index* array) {
          --count->now;
          delete[] array;
        });
    std::copy(layer.weights.indices.begin(), layer.weights.indices.end(), storage.get());
    layer.weights.indices = Array<Index>(storage, layer.weights.entries());
    return layer;
  }
  std::uint64_t bytes_read() const override { return reads_; }
  int most_at_once() const { return count_->most; }

 private:
  struct Count {
    std::atomic<int> now = 0;
    std::atomic<int> most = 0;
  };

  static std::vector<LayerShape> shapes_of(const std::vector<Layer>& layers) {
    std::vector<LayerShape> shapes;
    for (const Layer& layer : layers) {
      LayerShape& shape = shapes.emplace_back(shape_of(layer));
      if (layer.outputs() == 0) continue;
      shape.degree = layer.weights.degree(0);
      for (Index row = 1; row < layer.outputs(); ++row)
        if (layer.weights.degree(row) != layer.weights.degree(0)) shape.degree.reset();
    }
    return shapes;
  }

  std::vector<Layer> layers_;
  Index broken_;
  mutable std::atomic<std::uint64_t> reads_ = 0;
  std::shared_ptr<Count> count_ = std::make_shared<Count>();
};

inline NetworkStream stream_of(const Network& network, Index broken = CopiedLayers::kNone) {
  NetworkStream stream;
  stream.layers = std::make_shared<const CopiedLayers>(network.layers, broken);
  stream.bias_rule = network.bias_rule;
  stream.cap = network.cap;
  return stream;
}

/// The network's plan with streamed layers, whatever the passes.
inline Plan streamed_plan(const NetworkStream& stream, const Passes& passes, Index at_once) {
  return make_plan(stream, passes, {.at_once = at_once, .plan_bytes = 0});
}

}  // namespace spdnn::testing
