#pragma once

// The kernels of the `cascade` engine on their way through a plan, on the CPU.

#include <gtest/gtest.h>

#include "engines/cuda/cascade/count.cuh"
#include "engines/cuda/cascade/kernel.cuh"
#include "engines/cuda/retire/outcome.hpp"
#include "plan/planner.hpp"
#include "search_memory.hpp"
#include "spdnn/engine.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda::cascade {

/// How a test divides shared memory and layers; the engine does so by the device's size.
struct Division {
  Index columns;
  Index regions;
  Index tile;    ///< images of a counting block
  Index second;  ///< the second launch's first layer
};

enum class Layer1 { as_compiled, by_sums };

/// A compiled plan, and images on the way through it.
class CascadeRun {
 public:
  CascadeRun(const Plan& plan, const ImageSet& images, const Division& division, Layer1 layer_1 = Layer1::as_compiled)
      : plan_(plan), images_(images.images()), division_(division), compiled_(compile_cascade(plan)) {
    const Index region_floats = division.columns * ((compiled_.width + 3) / 4 * 4);
    shared_bytes_ = sizeof(Shared) + std::size_t{division.regions} * region_floats * sizeof(float);
    program_ = {compiled_.layers.data(),
                reinterpret_cast<const uint4*>(compiled_.terms.data()),
                compiled_.degrees.data(),
                compiled_.biases.data(),
                compiled_.first.sums.data(),
                static_cast<Index>(compiled_.first.sums.size()),
                plan.depth(),
                plan.passes.dead ? plan.certificates.dead_from : kNoLayer,
                plan.passes.saturated ? plan.certificates.saturated_from : kNoLayer,
                {static_cast<float>(*plan.cap), plan.bias_rule == BiasRule::everywhere},
                division.columns,
                division.regions,
                region_floats,
                compiled_.tabled && layer_1 == Layer1::as_compiled ? Index{1} : Index{0}};
    begin_counting(images.bits());
    stride_ = (compiled_.width + 3) / 4 * 4;
    for (auto& rows : rows_) rows.resize(std::size_t{images_} * stride_);
    for (auto& ids : ids_) ids.resize(images_);
    by_layer_at_ = images_ / 32 + 1;
    results_.resize((by_layer_at_ + plan.depth() * sizeof(LayerTally) / sizeof(Index) + 3) / 4 * 4);
    handed_over_.assign(results_.size(), 0xabababab);
    search_ = memory_.begin(plan, images_, &done_, &duplicates_);
  }

  /// From the inputs on.
  void run(Index until) {
    state_.assign(1, 0);
    counting_.state = state_.data();
    counting_.state_words = 1;
    emulation::launch((images_ + counting_.tile - 1) / counting_.tile, kCountThreads, counting_.shared_bytes(),
                      [&] { count_kernel(counting_); });
    Index next[2] = {0, 0};
    LaunchArgs args{};
    args.counts = counts_.data();
    args.stride = std::size_t{32} * counting_.neuron_slices;
    args.images = images_;
    args.by_layer = reinterpret_cast<LayerTally*>(results_.data() + by_layer_at_);
    args.counted = &counted_;
    args.categories = results_.data();
    args.until = std::min(until, division_.second);
    args.out = survivors(0);
    args.next = &next[0];
    args.search = search_;
    args.search.endings = nullptr;
    if (until <= division_.second) args.results = results();
    launch(args);
    last_ = 0;
    if (until <= division_.second) return;
    args.in = survivors(0);
    args.out = survivors(1);
    args.first = division_.second;
    args.until = until;
    args.next = &next[1];
    args.search = search_;
    args.results = results();
    launch(args);
    last_ = 1;
  }

  std::vector<double> activations(Index layers) const {
    const Index width = plan_.layers[layers - 1].outputs();
    std::vector<double> all(std::size_t{images_} * width, 0.0);
    const auto row = [&](Index image) { return all.begin() + std::ptrdiff_t{image} * width; };
    for (const Index image : categories()) std::fill_n(row(image), width, *plan_.cap);
    const float* from = rows_[last_].data();
    for (Index i = 0; i < left_[last_]; ++i, from += stride_) std::copy_n(from, width, row(ids_[last_][i]));
    memory_.fill(listed_, width, all);
    return all;
  }

  Categories categories() const { return images_of(handed_over_.data(), images_); }

  std::vector<std::int64_t> alive() const {
    Outcome outcome;
    add_layer_counts(reinterpret_cast<const LayerTally*>(handed_over_.data() + by_layer_at_), counted_, plan_.depth(),
                     outcome);
    return outcome.alive;
  }

  Index duplicates() const { return duplicates_; }

 private:
  void begin_counting(const BitMatrix& bits) {
    const CountedLayer& first = compiled_.first;
    counting_.input_starts = first.inputs.starts.data();
    counting_.input_values = first.inputs.values.data();
    counting_.class_starts = first.classes.starts.data();
    counting_.class_values = first.classes.values.data();
    counting_.runs = first.runs.data();
    counting_.words = first.words.empty() ? nullptr : first.words.data();
    counting_.class_slices = first.inputs.slices();
    counting_.neuron_slices = first.classes.slices();
    if (!first.words.empty())
      counting_.words_per_class = static_cast<Index>(first.words.size() / first.inputs.slices());
    const Index quads = 8 * counting_.neuron_slices;
    if (quads > 0) counting_.runs_per_neuron = static_cast<Index>(first.runs.size() / quads);
    counting_.image_pairs = (plan_.inputs() + 63) / 64;
    counting_.tile = division_.tile;
    counting_.image_words = bits.words.data();
    counting_.images = images_;
    counts_.resize(std::size_t{images_} * 32 * counting_.neuron_slices);
    counting_.counts = counts_.data();
  }

  Survivors survivors(std::size_t side) { return {rows_[side].data(), stride_, ids_[side].data(), &left_[side]}; }

  Results results() {
    return {reinterpret_cast<uint4*>(handed_over_.data()), reinterpret_cast<const uint4*>(results_.data()),
            static_cast<Index>(by_layer_at_ * sizeof(Index)), &counted_, &done_};
  }

  void launch(const LaunchArgs& args) {
    emulation::launch(kBlocks, kThreads, shared_bytes_, [&] { cascade_kernel(program_, args); });
    listed_ = static_cast<std::uint32_t>(done_);
    EXPECT_EQ(done_ >> 32U, args.results.to != nullptr ? kBlocks : 0);
  }

  static constexpr unsigned kBlocks = 3;

  const Plan& plan_;
  Index images_;
  Division division_;
  CascadeProgram compiled_;
  std::size_t shared_bytes_ = 0;
  Index stride_ = 0;
  ProgramView program_{};
  CountingArgs counting_{};
  std::vector<std::uint8_t> counts_;
  std::vector<std::uint32_t> state_;
  std::vector<float> rows_[2];
  std::vector<Index> ids_[2];
  Index left_[2] = {0, 0};
  std::size_t last_ = 0;
  std::vector<std::uint32_t> results_;  ///< categories, and what is counted by layer
  std::size_t by_layer_at_ = 0;
  std::vector<std::uint32_t> handed_over_;
  Index counted_ = 0;
  DuplicateSearch search_{};
  SearchMemory memory_;
  unsigned long long done_ = 0;
  std::uint32_t listed_ = 0;
  Index duplicates_ = 0;
};
/// Layers of one weight; from the second on sums of a, b, a, b, ... up to layer `alternating`. `ordered`: neighbours of
/// the first layer read neighbouring inputs, which are counted by whole words then.
inline Network make_network(Index inputs, Index width, Index depth, Index alternating, bool ordered,
                            testing::Dice& dice) {
  Network network;
  for (Index k = 0; k < depth; ++k) {
    const Index from = k == 0 ? inputs : width;
    std::vector<Offset> offsets{0};
    std::vector<Index> indices;
    for (Index row = 0; row < width; ++row) {
      const bool pairs = k > 0 && k < alternating;
      const Index degree = k == 0 && ordered ? 32 : pairs || k == 0 ? 8 : 3 + static_cast<Index>(dice.below(6));
      const Index pair[2] = {static_cast<Index>(dice.below(from)), static_cast<Index>(dice.below(from))};
      for (Index t = 0; t < degree; ++t) {
        const auto any = static_cast<Index>(dice.below(from));
        indices.push_back(pairs ? pair[t % 2] : k == 0 && ordered ? (row + t) % from : any);
      }
      offsets.push_back(indices.size());
    }
    Layer layer;
    layer.weights = make_csr(width, from, std::move(offsets), std::move(indices), {});
    layer.weights.value = k == 1 ? 0.125F : 0.25F;
    layer.bias.uniform = k == 1 ? 0.25 : -0.25;  // a sum of 0 stays 0
    network.layers.push_back(std::move(layer));
  }
  network.cap = 1.5;
  return network;
}

/// Every image twice; of all densities, so that some die, some saturate and some live.
inline ImageSet make_images(Index images, Index inputs) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  for (Index image = 0; image < images; ++image) {
    testing::Dice dice(1 + image / 2);
    const auto density = dice.below(101);
    for (Index input = 0; input < inputs; ++input)
      if (dice.below(100) < density) indices.push_back(input);
    offsets.push_back(indices.size());
  }
  const CsrMatrix sparse = make_csr(images, inputs, std::move(offsets), std::move(indices), {});
  return ImageSet{ImageSet{sparse}.to_bits()};
}

}  // namespace spdnn::cuda::cascade
