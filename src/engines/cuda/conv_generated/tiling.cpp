// The choice of a tiling by a model of the time.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engines/cuda/conv_generated/generated.hpp"

namespace spdnn::cuda {

namespace {

constexpr Index kRegisters = 65536;         ///< of a multiprocessor
constexpr double kSchedulers = 4;           ///< likewise; each issues for a quarter of the warps
constexpr Index kOtherRegisters = 16;       ///< that hold no sum
constexpr Index kMostFilters = 64;          ///< of a kernel
constexpr Index kChannelsOfChunk = 8;       ///< of a chunk
constexpr Index kMostRead = 256;            ///< pixels of a chunk, by axis: a limit of its copy
constexpr Index kMostSteps = 8;             ///< likewise
constexpr double kCodeInCache = 128 << 10;  ///< bytes beside a multiprocessor
constexpr double kInstructionBytes = 16;
constexpr double kFetchedPerClock = 1.6;    ///< bytes of code, from L2
constexpr double kShareReached = 0.85;      ///< of the rates of issue and of shared memory
constexpr double kClocksOfChunk = 60;       ///< barrier, and the first reads
constexpr double kBytesPerSecond = 3.6e12;  ///< of device memory
constexpr double kBytesFromL2 = 5.5e12;     ///< per second
/// The share of the shorter one of computing and moving bytes, with 2, 3 and 4 stages.
constexpr double kNotHidden[] = {0.5, 0.3, 0.2};
constexpr double kLaunch = 10e-6;

Index divided_up(Index a, Index b) { return (a + b - 1) / b; }

/// Filters of a kernel whose sums fit into registers.
Index most_filters(Index threads) {
  const Index registers = std::min<Index>(kRegisters / threads / 8 * 8, 255);
  return std::min(registers - kOtherRegisters, kMostFilters);
}

/// Calls use(tiling) for each number of stages, with the largest chunks such that the ring of stages runs on from tile
/// to tile.
template <class Use>
void for_each_ring(const DirectShape& shape, const GeneratedLimits& limits, GeneratedTiling tiling, const Use& use) {
  for (std::size_t axis = 0; axis < 2; ++axis) {
    if (shape.kernel[axis] == 1) tiling.steps[axis] = std::min(shape.stride[axis], kMostSteps);
    tiling.read[axis] = (tiling.tile[axis] - 1) * shape.stride[axis] / tiling.steps[axis] +
                        (shape.kernel[axis] - 1) * shape.dilation[axis] + 1;
    if (shape.stride[axis] % tiling.steps[axis] != 0 || tiling.read[axis] * tiling.steps[axis] > kMostRead) return;
  }
  for (const Index stages : {4, 3, 2})
    for (Index channels = std::min(kChannelsOfChunk, shape.channels); channels > 0; --channels) {
      tiling.stages = stages;
      tiling.channels = channels;
      tiling.chunks = divided_up(shape.channels, channels);
      if (tiling.chunks % stages != 0 || tiling.shared_bytes() > limits.shared_bytes) continue;
      use(tiling);
      break;
    }
}

/// Seconds of all kernels side by side.
double predicted(const DirectShape& shape, const CsrMatrix& weights, const GeneratedLimits& limits,
                 const GeneratedTiling& tiling) {
  const double taps = static_cast<double>(shape.channels) * shape.kernel[0] * shape.kernel[1];
  const double filters = static_cast<double>(shape.filters) / tiling.kernels;
  const double density = static_cast<double>(weights.entries()) / (taps * shape.filters);
  const double multiply_adds = filters * taps * density;
  const double reads = taps * (1 - std::pow(1 - density, filters));
  const double warps = tiling.threads() / 32.0;
  const double instructions = multiply_adds + reads;
  const double issue = instructions * std::ceil(warps / kSchedulers);
  const double shared = reads * warps;
  const double fetch =
      instructions * kInstructionBytes > kCodeInCache ? instructions * kInstructionBytes / kFetchedPerClock : 0;
  const double epilogue = filters * warps;
  const double clocks =
      std::max(std::max(issue, shared) / kShareReached, fetch) + kClocksOfChunk * tiling.chunks + epilogue;
  const Index blocks = std::max<Index>(limits.multiprocessors / tiling.kernels, 1);
  const Index waves = divided_up(tiling.kernels, limits.multiprocessors);
  const Index rounds = divided_up(tiling.tiles(shape) * shape.blocks, blocks) * waves;
  const double computing = rounds * clocks / limits.clock;
  const double out_bytes = static_cast<double>(shape.out_block * shape.blocks) * kPixelBytes;
  const double in_bytes = static_cast<double>(shape.in_block * shape.blocks) * kPixelBytes;
  const double read_bytes =
      static_cast<double>(tiling.stage_bytes()) * tiling.chunks * tiling.kernels * tiling.tiles(shape) * shape.blocks;
  const double moving = std::max((in_bytes + out_bytes) / kBytesPerSecond, (read_bytes + out_bytes) / kBytesFromL2);
  const double not_hidden = kNotHidden[tiling.stages - 2];
  return kLaunch + std::max(computing, moving) + not_hidden * std::min(computing, moving);
}

}  // namespace

DirectShape flattened(DirectShape shape) {
  for (std::size_t axis = 0; axis < 2; ++axis)
    if (shape.kernel[axis] != 1 || shape.stride[axis] != 1 || shape.in[axis] != shape.out[axis]) return shape;
  for (auto* const extents : {shape.in, shape.out}) {
    extents[1] *= extents[0];
    extents[0] = 1;
  }
  return shape;
}

std::vector<GeneratedTiling> generated_tilings(const DirectShape& shape, const CsrMatrix& weights,
                                               const GeneratedLimits& limits) {
  // Of 24 to 32 warps: each instruction that is fetched must serve many.
  constexpr Index kTiles[][2] = {{4, 7}, {4, 8}, {2, 14}, {7, 4},  {1, 28}, {1, 32}, {2, 16}, {5, 5},
                                 {5, 6}, {6, 4}, {4, 6},  {1, 24}, {3, 8},  {3, 9},  {3, 10}, {2, 13}};
  std::vector<GeneratedTiling> tilings;
  const std::size_t bytes = (shape.in_block + shape.out_block) * shape.blocks * kPixelBytes;
  for (const auto& [rows, columns] : kTiles)
    for_each_ring(shape, limits, {.tile = {rows, columns}, .streams = bytes > limits.l2_bytes / 2},
                  [&](GeneratedTiling tiling) {
                    const Index fewest = divided_up(shape.filters, most_filters(tiling.threads()));
                    for (Index kernels = fewest; kernels <= std::min(fewest + 3, shape.filters); ++kernels) {
                      tiling.kernels = kernels;
                      tiling.seconds = predicted(shape, weights, limits, tiling);
                      tilings.push_back(tiling);
                    }
                  });
  std::stable_sort(tilings.begin(), tilings.end(),
                   [](const GeneratedTiling& a, const GeneratedTiling& b) { return a.seconds < b.seconds; });
  return tilings;
}

void leave_out(GeneratedTiling& tiling, const std::string& part) {
  tiling.streams = tiling.streams && part != "hints";
  tiling.one_polls = tiling.one_polls && part != "polling";
  tiling.blocks_stay = tiling.blocks_stay && part != "persistence";
}

std::vector<std::vector<Index>> filters_by_kernel(const GeneratedTiling& tiling, const CsrMatrix& weights) {
  std::vector<Index> order(weights.rows);
  std::iota(order.begin(), order.end(), Index{0});
  const auto count = [&](Index filter) { return weights.offsets[filter + 1] - weights.offsets[filter]; };
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return count(a) > count(b); });
  std::vector<std::vector<Index>> dealt(tiling.kernels);
  for (Index i = 0; i < weights.rows; ++i) {
    const Index place = i % tiling.kernels;
    const bool back = i / tiling.kernels % 2 != 0;
    dealt[back ? tiling.kernels - 1 - place : place].push_back(order[i]);
  }
  for (std::vector<Index>& filters : dealt) std::sort(filters.begin(), filters.end());
  return dealt;
}

}  // namespace spdnn::cuda
