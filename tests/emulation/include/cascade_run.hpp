#pragma once

// Runs a plan through the kernels of the `cascade` engine on the CPU.

#include <gtest/gtest.h>

#include <optional>

#include "engines/cuda/cascade/count.cuh"
#include "engines/cuda/cascade/filter.cuh"
#include "engines/cuda/cascade/front.cuh"
#include "engines/cuda/cascade/kernel.cuh"
#include "engines/cuda/cascade/setup.hpp"
#include "engines/cuda/cascade/tail.cuh"
#include "engines/cuda/retire/outcome.hpp"
#include "engines/engine.hpp"
#include "plan/planner.hpp"
#include "search_memory.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda::cascade {

/// The emulated device. Its memory and the layers are divided by the engine's own functions.
struct Device {
  std::size_t block_bytes;  ///< shared memory of a block
  unsigned blocks;          ///< one per multiprocessor
};
inline constexpr Device kLarge{std::size_t{227} << 10U, 1};  ///< 400 images make a wave of up to seven groups
inline constexpr Device kSmall{std::size_t{48} << 10U, 3};   ///< waves of one group or two, one after another

/// Deviations of a run from the engine's choices.
struct Departure {
  std::optional<Index> second{};  ///< the second launch's first layer, so that short networks have one
  bool layer_1_by_sums = false;
  bool without_front = false;
  bool without_filter = false;
  bool without_tail = false;
};

/// A compiled plan, and its runs on images, launch by launch as in the engine.
class CascadeRun {
 public:
  CascadeRun(const Plan& plan, const ImageSet& images, const Device& device, const Departure& departure = {})
      : plan_(plan),
        images_(images.images()),
        blocks_(device.blocks),
        compiled_(compile_cascade(plan)),
        second_(departure.second.value_or(second_launch_layer(compiled_))),
        stride_(padded_width(compiled_.width)),
        shared_(divide_shared_memory(plan.max_outputs(), device.block_bytes)),
        view_(view_of(compiled_, plan, shared_)),
        counting_(counting_of(compiled_.first, plan)),
        layout_(images_, plan.depth(), 0, 0),
        state_(layout_.bytes),
        handed_over_(layout_.search_at, std::byte{0xab}) {
    EXPECT_LE(shared_.bytes(), device.block_bytes);
    if (departure.layer_1_by_sums) view_.pair_table = nullptr;
    if (!departure.without_front) front_ = find_front(compiled_, plan);
    if (front_) {
      second_ = front_->layers;
      front_view_ = view_of(*front_, plan, view_);
      const std::optional<FrontFilter> filter = find_filter(*front_, compiled_, plan);
      if (filter && !departure.without_filter) {
        front_view_.filter = view_of(*filter);
        kept_.resize(images_);
        front_view_.kept = {.images = kept_.data(), .count = &layout_.counters(state_.data()).kept};
      }
      front_view_.bits = reinterpret_cast<const std::uint32_t*>(images.bits().words.data());
    }
    if (!departure.without_tail) tail_ = find_tail(compiled_, plan, second_);
    if (tail_)
      tail_view_ = {.layers = tail_->layers.data(),
                    .terms = reinterpret_cast<const uint4*>(tail_->terms.data()),
                    .first = second_,
                    .inputs = compiled_.layers[second_].inputs};
    counts_.resize(images_ * count_stride());
    counting_.tile = counting_tile(counting_, device.block_bytes);
    EXPECT_LE(counting_.shared_bytes(), device.block_bytes);
    counting_.image_words = images.bits().words.data();
    counting_.images = images_;
    counting_.counts = counts_.data();
    for (auto& rows : rows_) rows.resize(std::size_t{images_} * stride_);
    for (auto& ids : ids_) ids.resize(images_);
    Counters& counters = layout_.counters(state_.data());
    search_ = memory_.begin(plan, images_, &counters.listed, &counters.duplicates);
  }

  bool has_front() const { return front_.has_value(); }
  bool has_filter() const { return front_view_.kept.images != nullptr; }
  bool has_tail() const { return tail_.has_value(); }

  /// Runs the layers before `until`, from the inputs on.
  void run(Index until) {
    const bool fronted = front_ && until > second_;
    if (!fronted)
      emulation::launch((images_ + counting_.tile - 1) / counting_.tile, kCountThreads, counting_.shared_bytes(),
                        [&] { count_kernel(counting_); });
    const RunMemory memory{.state = state_.data(),
                           .layout = layout_,
                           .results = reinterpret_cast<uint4*>(handed_over_.data()),
                           .counts = counts_.data(),
                           .count_stride = count_stride(),
                           .between = survivors(0),
                           .search = search_};
    const Index runs = layout_.counters(state_.data()).runs;
    for (const LaunchArgs& args : launches_of(memory, images_, second_, until, survivors(1))) {
      if (fronted && args.first == 0)
        launch_front(args);
      else if (tail_ && args.first == tail_->first)
        emulation::launch(blocks_, kTailThreads, sizeof(TailBlock), [&] { tail_kernel(view_, tail_view_, args); });
      else
        emulation::launch(blocks_, kThreads, shared_.bytes(), [&] { cascade_kernel(view_, args); });
    }
    EXPECT_EQ(counters().listed >> 32U, blocks_);
    EXPECT_EQ(layout_.counters(state_.data()).runs, runs + 1);
  }

  std::vector<double> activations(Index layers) {
    const Index width = plan_.layers[layers - 1].outputs();
    std::vector<double> all(std::size_t{images_} * width, 0.0);
    const auto row = [&](Index image) { return all.begin() + std::ptrdiff_t{image} * width; };
    for (const Index image : categories()) std::fill_n(row(image), width, *plan_.cap);
    const float* from = rows_[1].data();
    for (Index i = 0; i < counters().left; ++i, from += stride_) std::copy_n(from, width, row(ids_[1][i]));
    memory_.fill(static_cast<std::uint32_t>(counters().listed), width, all);
    return all;
  }

  Categories categories() { return images_of(layout_.categories(handed_over_.data()), images_); }

  std::vector<std::int64_t> alive() { return outcome().alive; }
  std::int64_t saturated() { return outcome().saturated; }

  Index duplicates() { return counters().duplicates; }

 private:
  /// Counts of alive, active and saturated images alone.
  Outcome outcome() {
    Outcome outcome;
    add_layer_counts(layout_.tallies(handed_over_.data()), counters().counted, plan_.depth(), outcome);
    return outcome;
  }
  /// The counters as the host sees them.
  const Counters& counters() { return layout_.counters(handed_over_.data()); }
  std::size_t count_stride() const { return std::size_t{32} * counting_.neuron_slices; }
  Survivors survivors(std::size_t side) {
    return {.rows = rows_[side].data(), .stride = stride_, .images = ids_[side].data(), .count = nullptr};
  }

  template <Index kLog>
  void launch_front_of(const LaunchArgs& args) {
    using Shape = FrontShape<kLog>;
    if (has_filter())
      emulation::launch(blocks_ * FilterSize<Shape>::kBlocks, FilterSize<Shape>::kThreads, sizeof(FilterBlock),
                        [&] { filter_kernel<kLog>(front_view_, args); });
    emulation::launch(blocks_, Shape::kThreads, sizeof(FrontBlock<Shape>),
                      [&] { front_kernel<kLog>(front_view_, args); });
  }
  void launch_front(const LaunchArgs& args) {
    switch (front_->neurons) {
      case 64:
        return launch_front_of<6>(args);
      case 128:
        return launch_front_of<7>(args);
      case 256:
        return launch_front_of<8>(args);
      case 512:
        return launch_front_of<9>(args);
      case 1024:
        return launch_front_of<10>(args);
      case 2048:
        return launch_front_of<11>(args);
      default:
        return launch_front_of<12>(args);
    }
  }

  const Plan& plan_;
  Index images_;
  unsigned blocks_;
  CascadeProgram compiled_;
  Index second_;
  Index stride_;
  SharedLayout shared_;
  ProgramView view_;
  CountingArgs counting_;
  std::optional<Front> front_;
  FrontView front_view_{};
  std::optional<Tail> tail_;
  TailView tail_view_{};
  StateLayout layout_;
  std::vector<std::byte> state_;
  std::vector<std::byte> handed_over_;  ///< the state's first part, as the last launch copied it
  std::vector<std::uint8_t> counts_;
  std::vector<Index> kept_;
  std::vector<float> rows_[2];
  std::vector<Index> ids_[2];
  DuplicateSearch search_{};
  SearchMemory memory_;
};

/// Layers of one weight. From the second layer up to `alternating`, each row repeats two inputs: a, b, a, b, ...
/// `ordered`: neighbouring neurons of the first layer read neighbouring inputs, which are then counted by whole words.
inline Network make_network(Index inputs, Index width, Index depth, Index alternating, bool ordered,
                            testing::Rng& rng) {
  Network network;
  for (Index k = 0; k < depth; ++k) {
    const Index from = k == 0 ? inputs : width;
    MatrixBuilder weights(from);
    for (Index row = 0; row < width; ++row) {
      const bool pairs = k > 0 && k < alternating;
      const Index degree = k == 0 && ordered ? 32 : pairs || k == 0 ? 8 : 3 + static_cast<Index>(rng.below(6));
      const Index pair[2] = {static_cast<Index>(rng.below(from)), static_cast<Index>(rng.below(from))};
      for (Index t = 0; t < degree; ++t) {
        const auto any = static_cast<Index>(rng.below(from));
        weights.add(pairs ? pair[t % 2] : k == 0 && ordered ? (row + t) % from : any);
      }
      weights.end_row();
    }
    const double bias = k == 1 ? 0.25 : -0.25;  // a sum of 0 stays 0
    network.layers.push_back({weights.uniform(k == 1 ? 0.125F : 0.25F), Bias{bias, {}}});
  }
  network.cap = 1.5;
  return network;
}

/// Every image twice; of all densities, so that some die, some saturate and some live.
inline ImageSet make_images(Index images, Index inputs) {
  MatrixBuilder lit(inputs);
  for (Index image = 0; image < images; ++image) {
    testing::Rng rng(1 + image / 2);
    const auto density = rng.below(101);
    for (Index input = 0; input < inputs; ++input)
      if (rng.below(100) < density) lit.add(input);
    lit.end_row();
  }
  return ImageSet{ImageSet{lit.uniform()}.to_bits()};
}

}  // namespace spdnn::cuda::cascade
