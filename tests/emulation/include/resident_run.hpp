#pragma once

// Runs a plan through the kernel of the `resident` engine on the CPU and compares with the fp64 reference.

#include <gtest/gtest.h>

#include "engines/cuda/resident/kernel.cuh"
#include "engines/cuda/resident/view.hpp"
#include "engines/cuda/retire/outcome.hpp"
#include "engines/engine.hpp"
#include "plan/planner.hpp"
#include "search_memory.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda::resident {

inline constexpr std::size_t kSharedBytes = std::size_t{226} << 10U;
inline constexpr unsigned kBlocks = 3;

/// A plan laid out for a shape, and its run on images.
template <class C>
class Run {
 public:
  static bool takes(const Plan& plan) {
    bool values = false;
    for (const Layer& layer : plan.layers) values = values || !layer.weights.uniform();
    return values == C::kValues && fits_tile(plan, C::kShape, kSharedBytes, true);
  }

  Run(const Plan& plan, const ImageSet& images, Index least_layers)
      : plan_(plan),
        images_(images.images()),
        least_layers_(least_layers),
        layout_(lay_out(plan, C::kShape, slots_for(plan, C::kShape, kSharedBytes, true), true, C::kUneven)),
        stride_(row_stride(plan)),
        infos_(layer_infos(plan)) {
    EXPECT_LE(tile_bytes(plan, layout_), kSharedBytes);
    layout_.chunk_stream.resize(layout_.chunk_stream.size() + spare_chunk_words(layout_));
    view_ = view_of(plan, layout_);
    view_.layers = infos_.data();
    control_.images = images_;
    control_.epoch = 1;
    begin_batch(images.bits());
    batch_.search = search_.begin(plan, images_, &control_.listed, &control_.duplicates);
  }

  const ResidentLayout& layout() const { return layout_; }

  void advance(Index first, Index until) {
    const LaunchWindow window{.until = until, .least_layers = least_layers_};
    for (Index layer = first; layer < until; layer += shortest_phase(layer, least_layers_))
      emulation::launch(kBlocks, C::kThreads, kSharedBytes, [&] { resident_kernel<C>(view_, batch_, window); });
  }

  std::vector<double> activations() const {
    const Index width = plan_.layers[control_.layer - 1].outputs();
    std::vector<double> all(std::size_t{images_} * width, 0.0);
    const auto row = [&](Index image) { return all.begin() + std::ptrdiff_t{image} * width; };
    for (const Index image : categories()) std::fill_n(row(image), width, *plan_.cap);
    const auto* from = rows_[control_.side].data();
    for (Index i = 0; i < control_.images; ++i, from += stride_) std::copy_n(from, width, row(ids_[control_.side][i]));
    search_.fill(control_.listed, width, all);
    return all;
  }

  Categories categories() const { return images_of(categories_.data(), images_); }
  std::vector<Index> borderline() const { return images_of(borderline_.data(), images_); }

  std::vector<std::int64_t> alive() const {
    Outcome outcome;
    add_layer_counts(counts_.data(), plan_.depth(), plan_.depth(), outcome);
    return outcome.alive;
  }

  Index duplicates() const { return control_.duplicates; }

 private:
  void begin_batch(const BitMatrix& bits) {
    counts_.resize(plan_.depth());
    categories_.resize(images_ / 32 + 1);
    borderline_.resize(images_ / 32 + 1);
    progress_.resize(images_ + 1);
    retired_.resize(images_ + 1);
    for (std::size_t side = 0; side < 2; ++side) {
      rows_[side].resize((std::size_t{images_} + 32) * stride_);
      ids_[side].resize(images_);
      batch_.rows[side] = rows_[side].data();
      batch_.ids[side] = ids_[side].data();
    }
    batch_.control = &control_;
    batch_.counts = counts_.data();
    batch_.categories = categories_.data();
    batch_.borderline = borderline_.data();
    batch_.progress = progress_.data();
    batch_.retired = retired_.data();
    batch_.stride = stride_;
    batch_.bits = reinterpret_cast<const std::uint32_t*>(bits.words.data());
    batch_.words = (plan_.inputs() + 63) / 64 * 2;
  }

  const Plan& plan_;
  Index images_;
  Index least_layers_;
  ResidentLayout layout_;
  Index stride_;
  std::vector<LayerInfo> infos_;
  LayoutView view_{};
  Control control_{};
  BatchView batch_{};
  std::vector<LayerCounters> counts_;
  std::vector<std::uint32_t> categories_, borderline_, retired_;
  std::vector<Index> progress_;
  std::vector<float> rows_[2];
  std::vector<Index> ids_[2];
  SearchMemory search_;
};

/// Counts over all runs of a test: proof that its cases occurred.
struct Seen {
  int runs = 0;
  int uneven = 0;
  Index duplicates = 0;
};

/// Compares with the reference after every layer, or at the end of a run of all layers at once.
template <class C>
void check(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  if (!Run<C>::takes(plan)) return;
  SCOPED_TRACE(::testing::Message() << plan.max_width() << " neurons, tiles of " << C::kImages << " images, "
                                    << C::kThreads << " threads, uneven " << C::kUneven << ", least phase "
                                    << least_layers << (by_layer ? ", by layer" : ", whole"));
  const auto reference = testing::oracle_engine(plan);
  reference->load(images);
  reference->reset();
  Run<C> run(plan, images, least_layers);
  const Index step = by_layer ? 1 : plan.depth();
  for (Index layer = 0; layer < plan.depth(); layer += step) {
    run.advance(layer, layer + step);
    for (Index k = layer; k < layer + step; ++k) reference->advance(k, k + 1);
    ASSERT_EQ(run.activations(), reference->activations()) << "after layer " << layer + step;
  }
  const Outcome expected = reference->outcome();
  EXPECT_EQ(run.categories(), expected.categories);
  EXPECT_EQ(run.alive(), expected.alive);
  ++seen.runs;
  seen.uneven += run.layout().uneven ? 1 : 0;
  seen.duplicates += run.duplicates();
}

/// With every kind of layout that the shape has kernels for.
template <ResidentShape kShape>
void check_shape(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  check<Config<kShape, LayoutKind{}>>(plan, images, least_layers, by_layer, seen);
  check<Config<kShape, LayoutKind{.values = true}>>(plan, images, least_layers, by_layer, seen);
  if constexpr (kShape.also_uneven) {
    check<Config<kShape, LayoutKind{.uneven = true}>>(plan, images, least_layers, by_layer, seen);
    check<Config<kShape, LayoutKind{.values = true, .uneven = true}>>(plan, images, least_layers, by_layer, seen);
  }
}

/// With every shape of a table whose number is named.
template <const auto& kTable, std::size_t... kNumbers>
void check_shapes(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  (check_shape<kTable.all[kNumbers]>(plan, images, least_layers, by_layer, seen), ...);
}

}  // namespace spdnn::cuda::resident
