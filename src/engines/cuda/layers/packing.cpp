#include "engines/cuda/layers/packing.hpp"

#include <algorithm>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "core/threads/parallel.hpp"

namespace spdnn::cuda {

namespace {

constexpr std::size_t kAlignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

/// One array of a block: `fill` writes its elements begin .. end-1, of `width` bytes each.
struct Part {
  std::size_t at = 0;
  std::size_t size = 0;
  std::size_t width = 1;
  std::function<void(std::byte* to, std::size_t begin, std::size_t end)> fill;
};

template <class To, class From>
Part converted(std::size_t at, const Array<From>& from) {
  const auto fill = [values = from.data()](std::byte* to, std::size_t begin, std::size_t end) {
    if constexpr (std::is_same_v<To, From>)
      std::copy(values + begin, values + end, reinterpret_cast<To*>(to));
    else
      std::transform(values + begin, values + end, reinterpret_cast<To*>(to),
                     [](From value) { return static_cast<To>(value); });
  };
  return {at, from.size(), sizeof(To), fill};
}

Part repeated(std::size_t at, std::size_t size, float value) {
  const auto fill = [value](std::byte* to, std::size_t begin, std::size_t end) {
    std::fill_n(reinterpret_cast<float*>(to), end - begin, value);
  };
  return {at, size, sizeof(float), fill};
}

/// The parts of a block that begins at `start`.
void add_parts(const Layer& layer, const LayerLayout& layout, std::size_t start, std::vector<Part>& parts) {
  const CsrMatrix& weights = layer.weights;
  parts.push_back(layout.offsets32 ? converted<std::uint32_t>(start, weights.offsets)
                                   : converted<Offset>(start, weights.offsets));
  const std::size_t indices_at = start + layout.indices_at;
  parts.push_back(layout.indices16 ? converted<std::uint16_t>(indices_at, weights.indices)
                                   : converted<Index>(indices_at, weights.indices));
  const std::size_t values_at = start + layout.values_at;
  if (layout.values)
    parts.push_back(weights.uniform() ? repeated(values_at, weights.entries(), weights.value)
                                      : converted<float>(values_at, weights.values));
  const std::size_t biases_at = start + layout.biases_at;
  if (layout.biases)
    parts.push_back(layout.biases64 ? converted<double>(biases_at, layer.bias.values)
                                    : converted<float>(biases_at, layer.bias.values));
}

/// The intersection of a part with the piece, which one thread packs at a time.
struct Share {
  const Part* part = nullptr;
  std::size_t begin = 0;
  std::size_t end = 0;
};

/// Shares of half a megabyte of the parts from `part` on, for the piece of the blocks that begins at `start` and has
/// `bytes`. No element lies across a piece's bound, its width being a power of two.
std::vector<Share> shares_of(std::span<const Part> parts, std::size_t start, std::size_t bytes) {
  constexpr std::size_t kShareBytes = std::size_t{1} << 19U;
  std::vector<Share> shares;
  for (const Part& part : parts) {
    if (part.at >= start + bytes) break;
    const std::size_t first = start > part.at ? (start - part.at) / part.width : 0;
    const std::size_t last = std::min(part.size, (start + bytes - part.at) / part.width);
    for (std::size_t begin = first; begin < last; begin += kShareBytes / part.width)
      shares.push_back({&part, begin, std::min(last, begin + kShareBytes / part.width)});
  }
  return shares;
}

}  // namespace

LayerLayout layout_of(const LayerShape& shape, LayerFormat format) {
  LayerLayout layout;
  layout.offsets32 = shape.edges <= std::numeric_limits<std::uint32_t>::max();
  layout.indices16 = format.indices16 && shape.inputs <= (Index{1} << 16U);
  layout.values = format.values || !shape.weight;
  layout.biases = !shape.bias;
  layout.biases64 = format.biases64;
  layout.indices_at =
      aligned((std::size_t{shape.outputs} + 1) * (layout.offsets32 ? sizeof(std::uint32_t) : sizeof(Offset)));
  layout.values_at =
      layout.indices_at + aligned(shape.edges * (layout.indices16 ? sizeof(std::uint16_t) : sizeof(Index)));
  layout.biases_at = layout.values_at + (layout.values ? aligned(shape.edges * sizeof(float)) : 0);
  // A layer held by input, for a library, has one bias per column.
  const std::size_t biases = layout.biases ? std::max(shape.inputs, shape.outputs) : 0;
  layout.bytes = layout.biases_at + aligned(biases * (layout.biases64 ? sizeof(double) : sizeof(float)));
  return layout;
}

DeviceLayer view(const LayerShape& shape, const LayerLayout& layout, const std::byte* block) {
  DeviceLayer view;
  view.inputs = shape.inputs;
  view.outputs = shape.outputs;
  view.edges = shape.edges;
  if (layout.offsets32)
    view.offsets = reinterpret_cast<const std::uint32_t*>(block);
  else
    view.offsets64 = reinterpret_cast<const Offset*>(block);
  if (layout.indices16)
    view.indices16 = reinterpret_cast<const std::uint16_t*>(block + layout.indices_at);
  else
    view.indices = reinterpret_cast<const Index*>(block + layout.indices_at);
  if (layout.values) view.values = reinterpret_cast<const float*>(block + layout.values_at);
  view.value = shape.weight.value_or(1.0F);
  if (layout.biases && !layout.biases64) view.biases = reinterpret_cast<const float*>(block + layout.biases_at);
  view.bias = static_cast<float>(shape.bias.value_or(0.0));
  return view;
}

void pack(const Layer& layer, const LayerLayout& layout, std::byte* block) {
  std::vector<Part> parts;
  add_parts(layer, layout, 0, parts);
  for (const Part& part : parts) part.fill(block + part.at, 0, part.size);
}

void upload_blocks(std::span<const Layer> layers, LayerFormat format, std::byte* device, Staging& staging,
                   cudaStream_t stream) {
  std::vector<Part> parts;
  std::size_t bytes = 0;
  for (const Layer& layer : layers) {
    const LayerLayout layout = layout_of(shape_of(layer), format);
    add_parts(layer, layout, bytes, parts);
    bytes += layout.bytes;
  }
  std::span<const Part> rest = parts;
  for (std::size_t start = 0; start < bytes; start += Staging::kPieceBytes) {
    const std::size_t piece_bytes = std::min(bytes - start, Staging::kPieceBytes);
    while (!rest.empty() && rest[0].at + rest[0].size * rest[0].width <= start) rest = rest.subspan(1);
    const std::vector<Share> shares = shares_of(rest, start, piece_bytes);
    const auto fill = [&](std::byte* piece) {
      parallel_for(shares.size(), [&](std::size_t i) {
        const auto& [part, begin, end] = shares[i];
        part->fill(piece + (part->at + begin * part->width - start), begin, end);
      });
    };
    staging.put(device + start, piece_bytes, fill, stream);
  }
}

}  // namespace spdnn::cuda
