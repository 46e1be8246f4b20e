// The kernel of the `resident` engine, run on the CPU: what it computes, on machines without a device too. Every tile
// shape, even and uneven layouts, fp32 and fp16 storage. Sums are exact: activations are compared bit for bit with the
// fp64 reference after every phase.

#include <gtest/gtest.h>

#include "colliding_rows.hpp"
#include "engines/cuda/read_outcome.hpp"
#include "engines/cuda/resident_kernel.cuh"
#include "plan/planner.hpp"
#include "search_memory.hpp"
#include "spdnn/engine.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda::resident {
namespace {

using testing::Dice;

constexpr std::size_t kSharedBytes = std::size_t{226} << 10U;
constexpr Index kSpareSlots = 3;
constexpr unsigned kBlocks = 3;

/// A plan laid out for a shape, and images on the way through it.
template <class C>
class Run {
 public:
  static bool takes(const Plan& plan) {
    bool values = false;
    for (const Layer& layer : plan.layers) values = values || !layer.weights.uniform();
    return values == C::kValues && plan.max_width() <= C::kShape.capacity() &&
           needed_slots(plan, C::kShape, true) <= most_slots();
  }

  Run(const Plan& plan, const ImageSet& images, Index least_layers)
      : plan_(plan),
        images_(images.images()),
        least_layers_(least_layers),
        layout_(lay_out(plan, C::kShape, slots_for(plan), true, C::kUneven)) {
    const bool everywhere = plan.bias_rule == BiasRule::everywhere;
    for (Index k = 0; k < plan.depth(); ++k) {
      const Layer& layer = plan.layers[k];
      stride_ = std::max(stride_, (layer.outputs() + 3) / 4 * 4);
      infos_.push_back({layer.inputs(), layer.outputs(), layer.weights.value, static_cast<float>(layer.bias.uniform),
                        plan.passes.merge ? static_cast<float>(plan.error_bounds[k]) : 0.0F,
                        everywhere || layer.bias.max() <= 0});
    }
    stream_ = layout_.stream;
    stream_.resize(stream_.size() + 16 * std::size_t{layout_.chunk_units()});
    program_ = {reinterpret_cast<const uint4*>(stream_.data()),
                layout_.starts.data(),
                layout_.rounds.data(),
                layout_.splits.data(),
                layout_.targets.data(),
                layout_.biases.empty() ? nullptr : layout_.biases.data(),
                layout_.copies.data(),
                infos_.data(),
                plan.depth(),
                layout_.width,
                layout_.zero_slot,
                layout_.slots,
                {static_cast<float>(*plan.cap), everywhere},
                plan.passes.dead ? plan.dead_from : kNever,
                plan.passes.saturated ? plan.saturated_from : kNever,
                plan.passes.merge};
    control_.images = images_;
    control_.epoch = 1;
    begin_batch(images.bits());
    batch_.search = search_.begin(plan, images_, &control_.listed, &control_.copies);
  }

  const ResidentLayout& layout() const { return layout_; }

  void advance(Index first, Index until) {
    const Turn turn{until, 0, kNever, least_layers_};
    for (Index layer = first; layer < until; layer += shortest_phase(layer, least_layers_))
      emulation::launch(kBlocks, C::kThreads, kSharedBytes, [&] { resident_kernel<C>(program_, batch_, turn); });
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

  Index copies() const { return control_.copies; }

 private:
  static constexpr Index most_slots() {
    return static_cast<Index>(kSharedBytes / C::kShape.slot_bytes()) - kSpareSlots;
  }
  static Index slots_for(const Plan& plan) {
    const Index needed = needed_slots(plan, C::kShape, true);
    return C::kShape.colours() == 1 ? needed : std::min(most_slots(), 2 * (needed + C::kShape.colours()));
  }

  void begin_batch(const BitMatrix& bits) {
    counts_.resize(plan_.depth());
    categories_.resize(images_ / 32 + 1);
    borderline_.resize(images_ / 32 + 1);
    progress_.resize(images_ + 1);
    settled_.resize(images_ + 1);
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
    batch_.settled = settled_.data();
    batch_.stride = stride_;
    batch_.bits = reinterpret_cast<const std::uint32_t*>(bits.words.data());
    batch_.words = (plan_.inputs() + 63) / 64 * 2;
  }

  const Plan& plan_;
  Index images_;
  Index least_layers_;
  ResidentLayout layout_;
  Index stride_ = 0;
  std::vector<LayerInfo> infos_;
  std::vector<std::uint32_t> stream_;
  Program program_{};
  Control control_{};
  Batch batch_{};
  std::vector<LayerCount> counts_;
  std::vector<std::uint32_t> categories_, borderline_, settled_;
  std::vector<Index> progress_;
  std::vector<float> rows_[2];
  std::vector<Index> ids_[2];
  SearchMemory search_;
};

/// What happened in all runs of a test, so that it can say whether they showed anything.
struct Seen {
  int runs = 0;
  int uneven = 0;
  Index copies = 0;
};

/// Compares with the reference after every layer, or at the end of a run of all layers at once.
template <class C>
void check(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  if (!Run<C>::takes(plan)) return;
  SCOPED_TRACE(::testing::Message() << plan.max_width() << " neurons, tiles of " << C::kImages << " images, "
                                    << C::kThreads << " threads, uneven " << C::kUneven << ", least phase "
                                    << least_layers << (by_layer ? ", by layer" : ", whole"));
  const auto reference = find_variant("cpu_reference").make(plan, {.precision = Precision::fp64});
  reference->load(images);
  reference->reset();
  Run<C> run(plan, images, least_layers);
  const Index step = by_layer ? 1 : plan.depth();
  for (Index layer = 0; layer < plan.depth(); layer += step) {
    run.advance(layer, layer + step);
    for (Index k = layer; k < layer + step; ++k) reference->advance(k, k + 1);
    ASSERT_EQ(run.activations(), reference->activations()) << "behind layer " << layer + step;
  }
  const Outcome expected = reference->outcome();
  EXPECT_EQ(run.categories(), expected.categories);
  EXPECT_EQ(run.alive(), expected.alive);
  ++seen.runs;
  seen.uneven += run.layout().uneven ? 1 : 0;
  seen.copies += run.copies();
}

template <class Stored, Index M, Index V, Index Threads, Index Rounds, Index Ahead, bool Uneven = false>
void check_shape(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  check<Config<Stored, M, V, Threads, Rounds, 1, Ahead, false, false>>(plan, images, least_layers, by_layer, seen);
  check<Config<Stored, M, V, Threads, Rounds, 1, Ahead, true, false>>(plan, images, least_layers, by_layer, seen);
  if constexpr (Uneven) {
    check<Config<Stored, M, V, Threads, Rounds, 1, Ahead, false, true>>(plan, images, least_layers, by_layer, seen);
    check<Config<Stored, M, V, Threads, Rounds, 1, Ahead, true, true>>(plan, images, least_layers, by_layer, seen);
  }
}

/// Those of resident_fp32.cu.
void check_fp32(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  check_shape<float, 32, 16, 128, 1, 2>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 32, 16, 256, 2, 2>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 32, 16, 512, 4, 1, true>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 16, 8, 512, 8, 1, true>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 8, 8, 512, 8, 1, true>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 4, 4, 512, 16, 2, true>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 2, 2, 1024, 16, 2, true>(plan, images, least_layers, by_layer, seen);
  check_shape<float, 8, 8, 64, 1, 4>(plan, images, least_layers, by_layer, seen);
}

/// One of each kind in resident_fp16.cu.
void check_fp16(const Plan& plan, const ImageSet& images, Index least_layers, bool by_layer, Seen& seen) {
  check_shape<__half, 32, 16, 256, 2, 2>(plan, images, least_layers, by_layer, seen);
  check_shape<__half, 16, 16, 512, 8, 1>(plan, images, least_layers, by_layer, seen);
  check_shape<__half, 4, 4, 1024, 16, 2>(plan, images, least_layers, by_layer, seen);
}

TEST(EmulatedResident, UnevenSumsAreRightLayerByLayerAndInOneRun) {
  Seen seen;
  for (const Index width : {60U, 300U}) {
    for (const bool uniform : {true, false}) {
      Dice dice(width + (uniform ? 1U : 0U));
      const bool own_biases = uniform == (width < 100);
      const Network network = testing::skewed_network(dice, width, width, uniform, own_biases);
      const ImageSet images = testing::bit_images(dice, 35, width, 0.1);
      const Plan plan = make_plan(network, parse_passes("dead"));
      check_fp32(plan, images, 1, true, seen);
      if (width < 100) check_fp32(plan, images, 3, false, seen);
    }
  }
  EXPECT_GT(seen.runs, 45);
  EXPECT_GT(seen.uneven, 15);
}

/// Ten weights of at most 1 and a cap of 2: halves hold the activations of five layers.
TEST(EmulatedResident, HalvesAreRightWhereTheyHoldEverything) {
  Seen seen;
  Dice dice(3);
  Network network;
  for (const double bias : {-0.25, -0.5, -0.5})
    network.layers.push_back(testing::skewed_layer(dice, 150, 150, 20, true, bias));
  network.cap = 2.0;
  check_fp16(make_plan(network, parse_passes("dead,saturated")), testing::bit_images(dice, 35, 150, 0.1), 1, true,
             seen);
  EXPECT_EQ(seen.runs, 3);
}

/// Images of 13 kinds, alike where the first layer reads them: in long phases tiles are shared by two blocks.
TEST(EmulatedResident, CopiesAreFoundAndShareTheirOwnersFate) {
  constexpr Index kWidth = 45;
  constexpr Index kImages = 100;
  Seen seen;
  for (const Index depth : {5U, 14U}) {
    Dice dice(depth);
    Network network;
    for (Index k = 0; k < depth; ++k)
      network.layers.push_back(testing::skewed_layer(dice, kWidth, kWidth / 3, 12, true, k % 3 == 2 ? -0.75 : -0.25));
    network.cap = 2.0;
    std::vector<Offset> offsets{0};
    std::vector<Index> indices;
    for (Index image = 0; image < kImages; ++image) {
      Dice kind(1000 + image % 13);
      Dice own(image);
      for (Index input = 0; input < kWidth; ++input)
        if (input < kWidth / 3 ? kind.below(100) < 6 * (image % 13) : own.below(2) == 0) indices.push_back(input);
      offsets.push_back(indices.size());
    }
    const CsrMatrix sparse = make_csr(kImages, kWidth, std::move(offsets), std::move(indices), {});
    const ImageSet images{ImageSet{sparse}.to_bits()};
    for (const char* passes : {"all", "identical", "dead,identical", "saturated"}) {
      SCOPED_TRACE(passes);
      const Plan plan = make_plan(network, parse_passes(passes));
      for (const bool by_layer : {true, false}) {
        check_shape<float, 32, 16, 128, 1, 2>(plan, images, 4, by_layer, seen);
        check_shape<float, 8, 8, 64, 2, 2>(plan, images, 4, by_layer, seen);
      }
    }
  }
  EXPECT_GT(seen.copies, 500U);
}

TEST(EmulatedResident, EqualHashesAreNotTrusted) {
  Seen seen;
  const auto [one, other] = CountingNetwork::colliding();
  const Plan plan = make_plan(CountingNetwork::make(12), parse_passes("identical"));
  const ImageSet images = CountingNetwork::images({one, other, one, other});
  for (const bool by_layer : {true, false}) {
    check_shape<float, 32, 16, 256, 2, 2>(plan, images, 4, by_layer, seen);
    check_shape<float, 2, 2, 1024, 16, 2>(plan, images, 4, by_layer, seen);
  }
  EXPECT_EQ(seen.runs, 4);
  EXPECT_EQ(seen.copies, 4U);  // of the row that the hash's place in the table names, in each run
}

/// Layer 1 adds its bias to sums of 0 as well: images that layer 0 leaves all zero live on.
TEST(EmulatedResident, ImagesAreNotDeadBeforeALayerThatRevivesThem) {
  Seen seen;
  Dice dice(8);
  Network network = testing::skewed_network(dice, 60, 60, true, false);
  network.bias_rule = BiasRule::everywhere;
  network.layers[0].bias.uniform = -2;
  network.layers[1].bias.uniform = 0.25;
  const Plan plan = make_plan(network, parse_passes("dead"));
  ASSERT_EQ(plan.dead_from, 2U);
  const ImageSet images = testing::bit_images(dice, 40, 60, 0.1);
  for (const bool by_layer : {true, false}) {
    check_shape<float, 32, 16, 128, 1, 2>(plan, images, 3, by_layer, seen);
    check_shape<float, 4, 4, 512, 16, 2, true>(plan, images, 3, by_layer, seen);
  }
  EXPECT_GE(seen.runs, 4);
}

/// A neuron that reads all others, most of them twice, is summed by several threads. It alone keeps the first image
/// from the cap behind layer 1.
TEST(EmulatedResident, ALongSumBelowTheCapKeepsAnImageFromBeingSaturated) {
  constexpr Index kWidth = 60;
  Seen seen;
  testing::Rows handing_on(kWidth);
  testing::Rows from_first(kWidth);
  for (Index j = 0; j < kWidth; ++j) {
    handing_on[j].emplace_back(j, 4.0F);
    from_first[j].emplace_back(0, 4.0F);
  }
  from_first[11].clear();
  for (Index i = 1; i < 2 * kWidth; ++i)
    if (i % kWidth != 0) from_first[11].emplace_back(i % kWidth, 4.0F);
  Network network;
  for (const auto& rows : {handing_on, from_first, handing_on})
    network.layers.push_back(testing::make_layer(kWidth, rows, -0.25, true));
  network.cap = 2.0;
  const Plan plan = make_plan(network, parse_passes("dead,saturated"));
  ASSERT_EQ(plan.saturated_from, 0U);
  const ImageSet images{
      ImageSet{testing::make_matrix(kWidth, {{{0, 1.0F}}, {{0, 1.0F}, {30, 1.0F}}, {{30, 1.0F}}}, true)}.to_bits()};
  for (const bool by_layer : {true, false}) {
    check_shape<float, 32, 16, 512, 4, 1, true>(plan, images, 3, by_layer, seen);
    check_shape<float, 8, 8, 512, 8, 1, true>(plan, images, 3, by_layer, seen);
    check_shape<float, 2, 2, 1024, 16, 2, true>(plan, images, 3, by_layer, seen);
  }
  EXPECT_GT(seen.uneven, 4);
}

/// What the bounds of a merged plan leave of an image.
enum class End { dead, saturated, borderline };

/// The rule of Plan::error_bounds, word by word. Sums are exact.
End end_of(const Plan& plan, std::vector<double> y) {
  for (Index k = 0; k < plan.depth(); ++k) {
    const CsrMatrix& weights = plan.layers[k].weights;
    std::vector<double> sums(weights.rows, plan.layers[k].bias.uniform);
    for (Index j = 0; j < weights.rows; ++j)
      for (Offset i = weights.offsets[j]; i < weights.offsets[j + 1]; ++i)
        sums[j] += y[weights.indices[i]] * weights.entry_value(i);
    const auto [lowest, highest] = std::minmax_element(sums.begin(), sums.end());
    if (*highest <= -plan.error_bounds[k]) return End::dead;
    if (*lowest >= *plan.cap + plan.error_bounds[k]) return End::saturated;
    y.clear();
    for (const double sum : sums) y.push_back(std::clamp(sum, 0.0, *plan.cap));
  }
  return End::borderline;
}

/// Runs a merged plan; returns how many images had each end.
template <class C>
std::array<std::size_t, 3> check_ends(const Plan& plan, const ImageSet& images) {
  std::array<std::vector<Index>, 3> expected;
  const CsrMatrix rows = images.to_csr();
  for (Index image = 0; image < rows.rows; ++image) {
    std::vector<double> pixels(rows.cols);
    for (const Index lit : rows.row(image)) pixels[lit] = 1;
    expected[static_cast<std::size_t>(end_of(plan, pixels))].push_back(image);
  }
  EXPECT_TRUE(Run<C>::takes(plan));
  Run<C> run(plan, images, 3);
  run.advance(0, plan.depth());
  EXPECT_EQ(run.categories(), expected[static_cast<std::size_t>(End::saturated)]);
  EXPECT_EQ(run.borderline(), expected[static_cast<std::size_t>(End::borderline)]);
  return {expected[0].size(), expected[1].size(), expected[2].size()};
}

/// Neurons that read eight of a few others, some more than once; a row of ones becomes one of ones.
Plan merged_plan(Dice& dice, Index width, Index depth, double bound) {
  Network network;
  for (Index k = 0; k < depth; ++k) {
    testing::Rows rows(width);
    for (auto& row : rows)
      for (int term = 0; term < 8; ++term) row.emplace_back(dice.below(width), 0.25F);
    network.layers.push_back(testing::make_layer(width, rows, -0.25, true));
  }
  network.cap = 1.0;
  Plan plan = make_plan(network, parse_passes("twins,merge,dead,saturated"));
  EXPECT_TRUE(plan.passes.merge && plan.passes.saturated && plan.passes.dead);
  plan.error_bounds.assign(depth, bound);
  return plan;
}

TEST(EmulatedResident, MergedPlansSettleImagesOnlyBeyondTheirBounds) {
  constexpr Index kWidth = 40;
  Dice dice(21);
  std::array<std::size_t, 3> seen{};
  for (const Index depth : {1U, 2U, 4U}) {
    for (const double bound : {0.125, 0.375}) {
      SCOPED_TRACE(::testing::Message() << depth << " layers, bound " << bound);
      const Plan plan = merged_plan(dice, kWidth, depth, bound);
      const ImageSet images = testing::bit_images(dice, 90, kWidth, 0.4);
      const auto ends = check_ends<Config<float, 32, 16, 128, 1, 1, 2, true, false>>(plan, images);
      for (std::size_t i = 0; i < 3; ++i) seen[i] += ends[i];
    }
  }
  for (const std::size_t images : seen) EXPECT_GT(images, 50U);
}

}  // namespace
}  // namespace spdnn::cuda::resident
