#pragma once

// Arguments of the `resident` engine's kernel: plain structs of pointers and numbers, and the host's arithmetic that
// fills them. Compiled without CUDA too: the emulated tests call the same functions as the engine.

#include <cstdint>
#include <vector>

#include "engines/cuda/layers/layer.hpp"
#include "engines/cuda/resident/layout.hpp"
#include "engines/cuda/retire/duplicate_search.hpp"

namespace spdnn::cuda::resident {

inline constexpr Index kPassOff = 0xffffffff;  ///< the layer of a pass that retires no images
inline constexpr Index kNoTile = 0xffffffff;

struct LayerInfo {
  Index inputs;
  Index outputs;
  float weight;      ///< of every term, if the chunk stream has no values
  float bias;        ///< of every neuron, if there is no table
  float bound;       ///< error_bound_of()
  bool bias_always;  ///< the bias may be added to every sum, see adds_bias_always()
};

/// A plan on the device; see ResidentLayout for the arrays.
struct LayoutView {
  const std::uint32_t* chunk_stream;  ///< on a 16-byte bound, with spare_chunk_words() more at its end
  const Offset* starts;
  const Index* rounds;
  const Index* splits;
  const std::uint32_t* targets;
  const float* biases;  ///< null where all layers have one bias
  const std::uint16_t* replicas;
  const LayerInfo* layers;
  Index depth;
  Index width;
  Index zero_slot;
  Index slots;
  Activation activation;
  Index dead_from;       ///< or kPassOff
  Index saturated_from;  ///< or kPassOff
  bool merge;
};

/// The state that a launch passes to the next.
struct Control {
  Index layer;   ///< next to run
  Index images;  ///< active, in rows[side]
  Index side;
  Index length;               ///< layers of the last phase
  Index few_retired;          ///< whether hardly any image retired in the last phase
  Index next_item;            ///< of the queue of tiles
  Index finished;             ///< blocks
  Index appended;             ///< images so far in rows[1 - side]
  Index epoch;                ///< number of the phase, for `progress`
  Index duplicates;           ///< DuplicateSearch::duplicates
  unsigned long long listed;  ///< DuplicateSearch::listed
};

struct LayerCounters {
  unsigned long long live;        ///< images not all zero among the active
  unsigned long long saturated;   ///< of these, retired at the cap
  unsigned long long duplicates;  ///< change from the layer before: duplicates of images that are not all zero
};

/// A batch of images on the device.
struct BatchView {
  Control* control;
  LayerCounters* counts;      ///< by layer
  std::uint32_t* categories;  ///< one bit per image
  std::uint32_t* borderline;
  Index* progress;         ///< by tile: epoch whose first layers are done
  std::uint32_t* retired;  ///< by tile, between its two blocks
  float* rows[2];  ///< activations by image, `stride` floats per row; between two blocks by tile, as stored there
  Index* ids[2];   ///< the image of each row; before layer 0, row i is image i
  Index stride;
  const std::uint32_t* bits;  ///< input: rows of `words` words; or, where null, CSR:
  std::size_t words;
  const Offset* offsets;
  const Index* indices;
  const float* values;  ///< null: all are `value`
  float value;
  DuplicateSearch search;
};

/// The window of a launch: layers below `until`, while the number of remaining images is in least_images ..
/// most_images.
struct LaunchWindow {
  Index until;
  Index least_layers;  ///< of a phase
  Index least_images = 0;
  Index most_images = 0xffffffff;
};

/// The minimum number of layers of a phase that begins at `layer`; `least`: the number of layers that is worth a
/// launch. There is one launch per phase, so the number of launches grows with the logarithm of the depth.
SPDNN_HOST_DEVICE constexpr Index shortest_phase(Index layer, Index least) {
  return layer / 2 > least ? layer / 2 : least;
}

/// Slots of a tile in `shared_bytes` of shared memory.
Index most_slots(const TileShape& shape, std::size_t shared_bytes);
/// Slots of a plan's layout: a second one for every neuron if rows are shorter than the 128 bytes that shared memory
/// delivers per cycle and there is room.
Index slots_for(const Plan& plan, const TileShape& shape, std::size_t shared_bytes, bool from_bits);
/// Whether a plan's activations and, with `from_bits`, its images, `bit_bytes` per input, fit the shape's tiles.
bool fits_tile(const Plan& plan, const TileShape& shape, std::size_t shared_bytes, bool from_bits);
/// Shared memory of a block for the layout.
std::size_t tile_bytes(const Plan& plan, const ResidentLayout& layout);

std::vector<LayerInfo> layer_infos(const Plan& plan);
/// The layout's numbers, and pointers to its arrays except `layers`.
LayoutView view_of(const Plan& plan, const ResidentLayout& layout);
/// Padding of the chunk stream in 32-bit words, because threads read ahead.
std::size_t spare_chunk_words(const ResidentLayout& layout);
/// The stride of rows of activations in device memory, in floats: a multiple of 16 bytes.
Index row_stride(const Plan& plan);

}  // namespace spdnn::cuda::resident
