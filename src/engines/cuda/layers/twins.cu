// Equal rows of many layers, found on the device.
//
// Layers come in chunks through two slots, each with a stream, a chunk's memory and its hashes. While the device works
// on the chunk in one, the host threads fill page-locked buffers with the next for the other.
// Mapping: one warp per row, once for its hash and once to compare it with the first row of the same hash, which
// IdenticalRows finds by sorting the hashes of the chunk; the lanes take every 32nd term. Hashes are seeded by the
// layer's number, so rows of different layers collide as rarely as other different rows. Cost: 2 bytes per edge (4
// where a layer has over 65536 inputs, 4 more with values) and 4 to 12 bytes per row go to the device; each edge is
// read three times from device memory, some 40 bytes per row are sorted, and 4 bytes per row come back. Bound: PCIe or,
// with few cores, packing. One warp processes each row, so a chunk takes several times as long if one row has most of
// its edges.

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "core/threads/parallel.hpp"
#include "engines/cuda/layers/equal_rows.hpp"
#include "engines/cuda/layers/packing.hpp"
#include "engines/cuda/layers/twins.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "engines/cuda/runtime/launch.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn::cuda {

namespace {

constexpr unsigned kBlock = 256;
static_assert(kBlock % kWarp == 0);

constexpr LayerFormat kFormat{.indices16 = true, .biases64 = true};

/// Replaces the head of a row that differs from the first row of its hash.
constexpr Index kCollided = std::numeric_limits<Index>::max();

struct ChunkLayer {
  DeviceLayer layer;
  const std::uint64_t* biases = nullptr;  ///< the bits of each neuron's bias; null if all are equal
  Index first_row = 0;                    ///< of the chunk's rows
};

/// A row of one of a chunk's layers: the edges begin .. begin + degree - 1.
struct Row {
  Index layer = 0;  ///< of the chunk's
  Offset begin = 0;
  Offset degree = 0;
  std::uint64_t bias = 0;
};

/// Layers on the device, their rows numbered through.
struct DeviceChunk {
  const ChunkLayer* layers = nullptr;
  Index count = 0;
  Index rows = 0;

  /// The last layer that begins at or before the row; skips layers without rows.
  __device__ Row row(Index number) const {
    Index low = 0;
    for (Index high = count; high - low > 1;) {
      const Index middle = low + (high - low) / 2;
      if (layers[middle].first_row <= number)
        low = middle;
      else
        high = middle;
    }
    const ChunkLayer& from = layers[low];
    const Index local = number - from.first_row;
    const Offset begin = from.layer.offset(local);
    return {low, begin, from.layer.offset(local + 1) - begin, from.biases != nullptr ? from.biases[local] : 0};
  }
};

__device__ std::uint64_t term(const DeviceLayer& layer, Offset edge) {
  return std::uint64_t{layer.index(edge)} << 32U | __float_as_uint(layer.edge_value(edge));
}

/// Row of this thread's warp, the same for all lanes.
__device__ std::size_t row_of_warp() { return (std::size_t{blockIdx.x} * blockDim.x + threadIdx.x) / kWarp; }

/// The sum of the terms' shares, each of which depends on the term and its position, combined with the row's other
/// properties.
__global__ void hash_kernel(DeviceChunk chunk, std::uint64_t mask, std::uint64_t* hashes) {
  const std::size_t number = row_of_warp();
  if (number >= chunk.rows) return;
  const unsigned lane = threadIdx.x % kWarp;
  const Row row = chunk.row(static_cast<Index>(number));
  const DeviceLayer& layer = chunk.layers[row.layer].layer;
  std::uint64_t sum = 0;
  for (Offset k = lane; k < row.degree; k += kWarp) sum += scrambled(scrambled(term(layer, row.begin + k)) ^ k);
  for (unsigned distance = kWarp / 2; distance > 0; distance /= 2) sum += __shfl_xor_sync(~0U, sum, distance);
  const std::uint64_t rest = scrambled(scrambled(std::uint64_t{row.layer} << 32U ^ row.degree) ^ row.bias);
  if (lane == 0) hashes[number] = scrambled(rest ^ sum) & mask;
}

/// Each warp reads and writes the head of its own row only.
__global__ void compare_kernel(DeviceChunk chunk, Index* heads) {
  const std::size_t number = row_of_warp();
  if (number >= chunk.rows || heads[number] == number) return;
  const Row row = chunk.row(static_cast<Index>(number));
  const Row head = chunk.row(heads[number]);
  bool differs = row.layer != head.layer || row.degree != head.degree || row.bias != head.bias;
  if (!differs) {
    const DeviceLayer& layer = chunk.layers[row.layer].layer;
    for (Offset k = threadIdx.x % kWarp; k < row.degree; k += kWarp)
      if (term(layer, row.begin + k) != term(layer, head.begin + k)) differs = true;
  }
  if (__any_sync(~0U, differs) && threadIdx.x % kWarp == 0) heads[number] = kCollided;
}

/// Layers first .. end-1 of those given.
struct Chunk {
  std::size_t first = 0;
  std::size_t end = 0;
  std::size_t bytes = 0;  ///< of their blocks
  Offset size = 0;        ///< rows and edges
  Index rows = 0;

  void add(const Layer& layer) {
    ++end;
    bytes += layout_of(shape_of(layer), kFormat).bytes;
    size += layer.outputs() + layer.weights.entries();
    rows += layer.outputs();
  }
  std::size_t device_bytes() const {
    return bytes + (end - first) * sizeof(ChunkLayer) + IdenticalRows::device_bytes(rows);
  }
};

/// Divides layers into runs with at most `size` rows and edges, and `bytes` on the device; a larger layer is in none of
/// them.
std::vector<Chunk> cut(std::span<const Layer> layers, Offset size, std::size_t bytes) {
  std::vector<Chunk> chunks;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    Chunk alone{k, k};
    alone.add(layers[k]);
    if (alone.device_bytes() > bytes) continue;
    if (!chunks.empty() && chunks.back().end == k && chunks.back().size + alone.size <= size) {
      Chunk longer = chunks.back();
      longer.add(layers[k]);
      if (longer.device_bytes() <= bytes) {
        chunks.back() = longer;
        continue;
      }
    }
    chunks.push_back(alone);
  }
  return chunks;
}

/// A layer's part of a chunk's heads, its rows numbered from `first_row` on: nothing where hashes collided.
std::optional<Array<Index>> local_heads(std::span<const Index> heads, Index first_row) {
  bool all_differ = true;
  std::vector<Index> first(heads.size());
  for (std::size_t row = 0; row < heads.size(); ++row) {
    if (heads[row] == kCollided) return std::nullopt;
    first[row] = heads[row] - first_row;
    if (first[row] != row) all_differ = false;
  }
  return all_differ ? Array<Index>() : Array<Index>(std::move(first));
}

using Found = std::vector<std::optional<Array<Index>>>;  ///< of each layer, once it is known

/// The buffers of one chunk in flight.
class Slot {
 public:
  /// Room for any of the chunks.
  explicit Slot(std::span<const Chunk> chunks) : stream_(make_stream()) {
    std::size_t bytes = 0;
    Index rows = 0;
    for (const Chunk& chunk : chunks) {
      bytes = std::max(bytes, chunk.bytes);
      rows = std::max(rows, chunk.rows);
    }
    memory_ = DeviceBuffer<std::byte>(bytes, stream_);
    rows_.reserve(rows, stream_);
    heads_ = PinnedBuffer<Index>(rows);
  }

  /// Returns when the chunk's last byte has been handed to the device.
  void begin(std::span<const Layer> layers, const Chunk& chunk, std::uint64_t hash_mask, Staging& staging) {
    chunk_ = chunk;
    upload(layers.subspan(chunk.first, chunk.end - chunk.first), staging);
    if (chunk.rows == 0) return;
    const DeviceChunk on_device{table_.data(), static_cast<Index>(layers_.size()), chunk.rows};
    const unsigned blocks = blocks_for(std::size_t{chunk.rows} * kWarp, kBlock);
    hash_kernel<<<blocks, kBlock, 0, stream_>>>(on_device, hash_mask, rows_.hashes());
    check_launch();
    rows_.find_heads(chunk.rows, stream_);
    compare_kernel<<<blocks, kBlock, 0, stream_>>>(on_device, rows_.heads());
    check_launch();
    check(cudaMemcpyAsync(heads_.data(), rows_.heads(), std::size_t{chunk.rows} * sizeof(Index), cudaMemcpyDeviceToHost,
                          stream_));
  }

  /// Waits for the chunk that was begun, if any.
  void finish(Found& found) {
    check(cudaStreamSynchronize(stream_));
    parallel_for(chunk_.end - chunk_.first, [&](std::size_t i) {
      const ChunkLayer& layer = layers_[i];
      const std::span<const Index> heads = heads_.span().subspan(layer.first_row, layer.layer.outputs);
      found[chunk_.first + i] = local_heads(heads, layer.first_row);
    });
    chunk_ = {};
  }

 private:
  void upload(std::span<const Layer> layers, Staging& staging) {
    layers_.clear();
    const std::byte* block = memory_.data();
    Index row = 0;
    for (const Layer& layer : layers) {
      const LayerShape shape = shape_of(layer);
      const LayerLayout layout = layout_of(shape, kFormat);
      const std::byte* const biases = layout.biases ? block + layout.biases_at : nullptr;
      layers_.push_back({view(shape, layout, block), reinterpret_cast<const std::uint64_t*>(biases), row});
      block += layout.bytes;
      row += layer.outputs();
    }
    upload_blocks(layers, kFormat, memory_.data(), staging, stream_);
    table_.reserve(layers_.size(), stream_);
    staging.copy(table_.data(), layers_.data(), layers_.size() * sizeof(ChunkLayer), stream_);
  }

  Stream stream_;
  DeviceBuffer<std::byte> memory_;
  DeviceBuffer<ChunkLayer> table_;
  IdenticalRows rows_;
  PinnedBuffer<Index> heads_;
  std::vector<ChunkLayer> layers_;
  Chunk chunk_;
};

void search_on_device(std::span<const Layer> layers, std::span<const Chunk> chunks, std::uint64_t hash_mask,
                      Found& found) {
  if (chunks.empty()) return;
  std::array<Slot, 2> slots{Slot(chunks), Slot(chunks)};
  Staging staging;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    Slot& slot = slots[i % slots.size()];
    slot.finish(found);
    slot.begin(layers, chunks[i], hash_mask, staging);
  }
  for (Slot& slot : slots) slot.finish(found);
}

}  // namespace

TwinsFound find_twins(std::span<const Layer> layers, const EngineOptions& options, const TwinSearch& search) {
  use_device(options);
  Found found(layers.size());
  search_on_device(layers, cut(layers, search.chunk, memory_budget(options) / 2), search.hash_mask, found);
  TwinsFound result;
  for (std::size_t k = 0; k < layers.size(); ++k) {
    if (!found[k]) {
      ++result.left_to_cpu;
      found[k] = planning::first_equal_rows(layers[k]);
    }
    result.first.push_back(std::move(*found[k]));
  }
  return result;
}

}  // namespace spdnn::cuda
