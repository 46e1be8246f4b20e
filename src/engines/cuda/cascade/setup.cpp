#include "engines/cuda/cascade/setup.hpp"

#include <algorithm>
#include <bit>

namespace spdnn::cuda::cascade {

namespace {

/// Maximum floats of a region, unless one column takes more: large enough that barriers cost little, and small enough
/// that several regions fit in a block.
constexpr Index kRegionFloats = 8192;
constexpr Index kFewestRegions = 2;  ///< one of them is free
static_assert(std::max(kRegionFloats, kCascadeWidth) <= 16 * kThreads, "load_counts() takes a region at once");

/// Maximum shared memory of a counting block, unless one image takes more: the number of threads limits the blocks per
/// multiprocessor.
constexpr std::size_t kCountingBytes = std::size_t{27} << 10U;
constexpr Index kMostCountingTile = 128;

/// Minimum number of layers of the first launch: after these, few images of the official networks are active.
constexpr Index kFirstLayers = 6;

}  // namespace

SharedLayout divide_shared_memory(Index width, std::size_t block_bytes) {
  const std::size_t limit = block_bytes - sizeof(Shared);
  width = std::max(width, Index{1});
  for (Index columns = std::min(kMostColumns, std::bit_floor(std::max(kRegionFloats / width, Index{1}))); columns > 0;
       columns /= 2) {
    SharedLayout layout{.columns = columns, .regions = 0, .region_floats = columns * padded_width(width)};
    const Index most = std::min(kMostRegions, 1 + kSlots / columns);
    layout.regions = static_cast<Index>(std::min<std::size_t>(most, limit / (layout.region_floats * sizeof(float))));
    if (layout.regions >= kFewestRegions) return layout;
  }
  return {};
}

Index counting_tile(CountingArgs counting, std::size_t block_bytes) {
  for (counting.tile = kMostCountingTile; counting.tile > 0; counting.tile /= 2)
    if (counting.shared_bytes() <= (counting.tile > 1 ? kCountingBytes : block_bytes)) return counting.tile;
  return 0;
}

ProgramView view_of(const CascadeProgram& program, const Plan& plan, const SharedLayout& layout) {
  return {.layers = program.layers.data(),
          .terms = reinterpret_cast<const uint4*>(program.terms.data()),
          .degrees = program.degrees.data(),
          .biases = program.biases.data(),
          .sums = program.first.sums.data(),
          .sum_count = narrow<Index>(program.first.sums.size()),
          .depth = plan.depth(),
          .dead_from = plan.passes.dead ? plan.certificates.dead_from : kNoLayer,
          .saturated_from = plan.passes.saturated && plan.cap ? plan.certificates.saturated_from : kNoLayer,
          .activation = activation_of(plan),
          .columns = layout.columns,
          .regions = layout.regions,
          .region_floats = layout.region_floats,
          .pair_table = program.pair_table.empty() ? nullptr : program.pair_table.data()};
}

CountingArgs counting_of(const CountedLayer& first, const Plan& plan) {
  CountingArgs counting{};
  counting.input_starts = first.inputs.starts.data();
  counting.input_values = first.inputs.values.data();
  counting.class_starts = first.classes.starts.data();
  counting.class_values = first.classes.values.data();
  counting.runs = first.runs.data();
  counting.class_slices = first.inputs.slices();
  counting.neuron_slices = first.classes.slices();
  const Index quads = 8 * counting.neuron_slices;
  counting.runs_per_neuron = quads == 0 ? 0 : narrow<Index>(first.runs.size() / quads);
  if (!first.words.empty()) {
    counting.words = first.words.data();
    counting.words_per_class = narrow<Index>(first.words.size() / first.inputs.slices());
  }
  counting.image_pairs = (plan.inputs() + 63) / 64;
  return counting;
}

FrontView view_of(const Front& front, const Plan& plan, const ProgramView& program) {
  FrontView view{};
  view.until = front.layers;
  view.outputs = front.outputs;
  view.words_per_class = front.words_per_class;
  view.class_shift = front.class_shift;
  view.threshold = front.threshold;
  view.saturated_from = program.saturated_from;
  view.keeps_zero = front.layers < program.dead_from;
  view.cap = program.activation.cap;
  view.pair_table = program.pair_table;
  view.activations = front.activations.data();
  view.bits_pitch = (plan.inputs() + 63) / 64 * 2;
  std::copy(front.steps.begin(), front.steps.end(), view.steps);
  return view;
}

FilterView view_of(const FrontFilter& filter) {
  const auto twice = [](Index number) { return (number & 0xffffU) * 0x10001U; };
  FilterView view{};
  view.weight = filter.weight;
  view.cap = twice(filter.cap);
  for (std::size_t number = 0; number < filter.steps.size(); ++number) {
    const auto [bias, margin] = filter.steps[number];
    view.biases[number] = twice(0U - bias);
    view.live[number] = twice(1 - bias - margin);
    view.may_live[number] = twice(margin - bias);
  }
  return view;
}

double lit_share(const BitMatrix& images) {
  constexpr std::uint64_t kScattered = 0x9e3779b1;  // images may be sorted, or recur with a period
  const Index sampled = std::min(images.rows, Index{256});
  std::int64_t lit = 0;
  for (Index i = 0; i < sampled; ++i) {
    const std::uint64_t* row = images.row(static_cast<Index>(i * kScattered % images.rows));
    for (std::size_t k = 0; k < images.words_per_row(); ++k) lit += std::popcount(row[k]);
  }
  return lit == 0 ? 0 : static_cast<double>(lit) / (static_cast<double>(sampled) * images.cols);
}

Index second_launch_layer(const CascadeProgram& program) {
  const auto depth = narrow<Index>(program.layers.size());
  Index layer = 1;
  while (layer < depth && (layer < kFirstLayers || program.layers[layer].pairs > 0)) ++layer;
  return layer;
}

StateLayout::StateLayout(Index images, Index depth, std::size_t zero_bytes, std::size_t table_bytes) {
  const std::size_t words = (std::size_t{images} + 31) / 32;
  tallies_at = categories_at + words * sizeof(std::uint32_t);
  constexpr std::size_t kUnit = 16;  // of the copy to the host
  const auto padded = [](std::size_t size) { return (size + kUnit - 1) / kUnit * kUnit; };
  search_at = padded(tallies_at + depth * sizeof(LayerTally));
  tables_at = padded(search_at + zero_bytes);
  bytes = tables_at + table_bytes;
}

std::vector<LaunchArgs> launches_of(const RunMemory& memory, Index images, Index second, Index until, Survivors left) {
  if (images == 0) return {};
  Counters& counters = memory.layout.counters(memory.state);
  Survivors between = memory.between;
  between.count = &counters.between;
  left.count = &counters.left;
  const bool continued = until > second;

  LaunchArgs first{};
  first.counts = memory.counts;
  first.stride = memory.count_stride;
  first.images = images;
  first.out = continued ? between : left;
  first.until = std::min(until, second);
  first.next = &counters.next[0];
  first.tallies = memory.layout.tallies(memory.state);
  first.counted = &counters.counted;
  first.categories = memory.layout.categories(memory.state);
  first.runs = &counters.runs;
  first.search = memory.search;
  first.search.endings = nullptr;  // an image that retires in the first launch has no duplicates

  LaunchArgs last = first;
  if (continued) {
    last.in = between;
    last.out = left;
    last.first = second;
    last.until = until;
    last.next = &counters.next[1];
    last.search = memory.search;
  }
  last.results = {.to = memory.results,
                  .state = reinterpret_cast<uint4*>(memory.state),
                  .bytes = narrow<Index>(memory.layout.tallies_at),
                  .cleared = narrow<Index>(memory.layout.tables_at),
                  .counted = &counters.counted,
                  .done = &counters.listed};
  if (!continued) return {last};
  return {first, last};
}

}  // namespace spdnn::cuda::cascade
