// The pass `identical` in every CUDA variant: images that are equal at once or become equal after some layer, and then
// die, reach the cap, live on, or become equal to yet others. All activations are small integers, so that every order
// of summation, and halves, must agree with cpu_reference to the last bit.

#include <gtest/gtest.h>

#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"

namespace spdnn::cuda {
namespace {

using testing::Rng;
using testing::Rows;
using testing::Term;

constexpr Index kRing = 12;    ///< neurons of each of two rings, in which a lit neuron lights the next one
constexpr Index kQueue = 28;   ///< neurons of a queue, fed by the first ring, along which activations move and leave
constexpr Index kTwins = 2;    ///< neurons that read the same
constexpr Index kUnread = 10;  ///< inputs that no neuron reads
constexpr Index kNeurons = 2 * kRing + kQueue + kTwins;
constexpr Index kInputs = kNeurons + kUnread;
constexpr Index kDepth = 44;
constexpr float kWeight = 2.0F;

/// One image with lit neurons of each part. An image lit in the queue alone dies; with both rings lit all neurons reach
/// the cap, but not before the queue is full; with one ring lit an image lives on.
struct Kind {
  std::vector<Index> first_ring;
  std::vector<Index> second_ring;
  std::vector<Index> queue;
};

Rows rows_of_layer() {
  Rows rows(kNeurons);
  const Index queue = 2 * kRing;
  const Index twins = queue + kQueue;
  for (Index ring = 0; ring < 2; ++ring)
    for (Index j = 0; j < kRing; ++j)
      rows[ring * kRing + j] = {{ring * kRing + j, kWeight}, {ring * kRing + (j + 1) % kRing, kWeight}};
  for (Index j = 0; j < kQueue; ++j) rows[queue + j] = {{j == 0 ? 0 : queue + j - 1, kWeight}};
  for (Index j = 0; j < kTwins; ++j) {
    rows[twins + j] = {{3, kWeight}};
    rows[4].emplace_back(twins + j, kWeight);
  }
  return rows;
}

Network make_network() {
  Network network;
  for (Index k = 0; k < kDepth; ++k)
    network.layers.push_back(testing::make_layer(k == 0 ? kInputs : kNeurons, rows_of_layer(), -1.0, true));
  network.cap = 2.0;
  return network;
}

/// Rows of zeros come to life again after a layer in the middle, so that until then no image is finally dead.
Network reviving_network() {
  Network network = make_network();
  network.bias_rule = BiasRule::everywhere;
  network.layers[30].bias.uniform = 1.0;
  return network;
}

void append_kind(const Kind& kind, Rows& rows) {
  std::vector<Term> lit;
  for (const Index j : kind.first_ring) lit.emplace_back(j, 1.0F);
  for (const Index j : kind.second_ring) lit.emplace_back(kRing + j, 1.0F);
  for (const Index j : kind.queue) lit.emplace_back(2 * kRing + j, 1.0F);
  rows.push_back(std::move(lit));
}

ImageSet images_of(const Rows& rows) { return {ImageSet{testing::make_matrix(kInputs, rows, true)}.to_bits()}; }

/// Images of all kinds, each several times, which differ in neurons that are not read and in activations that leave the
/// queue: hence duplicates after any layer, and duplicates of duplicates.
ImageSet mixed_images(Index images) {
  Rng rng(images);
  Rows rows;
  for (Index image = 0; image < images; ++image) {
    Kind kind;
    if (rng.below(8) != 0)
      for (Index j = 0; j < kRing; ++j)
        if (rng.below(3) == 0 && j % 6 == 0) kind.first_ring.push_back(j);
    if (rng.below(2) == 0) kind.second_ring.push_back(rng.below(2) * 5);
    for (Index k = rng.below(3); k > 0; --k) kind.queue.push_back(kQueue / 7 * (k + 2 * rng.below(2)));
    append_kind(kind, rows);
    for (Index j = 0; j < kUnread; ++j)
      if (rng.below(2) == 0) rows.back().emplace_back(kNeurons + j, 1.0F);
  }
  return images_of(rows);
}

using testing::Configuration;

/// fp16 is for `resident`.
std::vector<Configuration> configurations() {
  return testing::configurations_that([](const Variant& variant, Precision precision) {
    return variant.device == Device::cuda && precision != Precision::fp64;
  });
}

class IdenticalTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  EngineOptions options() const { return {.precision = configuration_.precision}; }
  std::unique_ptr<InspectableEngine> make(const Plan& plan, const ImageSet& images) const {
    return testing::engine_for(*configuration_.variant, plan, images, options());
  }

  Outcome run_all(const Network& network, std::string_view passes, const ImageSet& images) const {
    const Plan plan = testing::unreduced_plan(network, parse_passes(passes));
    const auto engine = make(plan, images);
    engine->load(images);
    (void)testing::run_through(*engine, plan.depth());
    return testing::run_through(*engine, plan.depth());  // a run does not disturb the next
  }

  void expect_agreement(const Network& network, const ImageSet& images) const {
    const testing::Case c{"identical", network, images};
    const testing::Truth truth = testing::oracle(c);
    for (const std::string_view passes :
         {"identical", "dead,identical", "saturated,identical", "dead,saturated,identical"})
      EXPECT_EQ(testing::difference(truth, c, configuration_.variant->make, parse_passes(passes), options(), 0.0), "")
          << passes;
  }

  Configuration configuration_ = configurations()[GetParam()];
};

TEST_P(IdenticalTest, AgreesWithTheReferenceAfterEveryLayer) {
  const ImageSet images = mixed_images(700);
  expect_agreement(make_network(), images);
  expect_agreement(reviving_network(), images);
}

TEST_P(IdenticalTest, FindsMostCopies) {
  const ImageSet images = mixed_images(700);
  for (const std::string_view passes : {"identical", "dead,saturated,identical"}) {
    const Outcome outcome = run_all(make_network(), passes, images);
    EXPECT_GT(outcome.identical, passes == "identical" ? 600 : 400) << passes;
    EXPECT_LT(outcome.identical, 700) << passes;
    EXPECT_FALSE(outcome.categories.empty());
    EXPECT_LT(outcome.categories.size(), 700U);
  }
}

TEST_P(IdenticalTest, ManyImages) {
  constexpr Index kCount = 70000;
  const ImageSet images = mixed_images(kCount);
  const Outcome expected = run_all(make_network(), "none", images);
  for (const std::string_view passes : {"identical", "dead,saturated,identical"}) {
    const Outcome found = run_all(make_network(), passes, images);
    EXPECT_EQ(found.categories, expected.categories) << passes;
    EXPECT_EQ(found.alive, expected.alive) << passes;
    EXPECT_GT(found.identical, kCount / 2) << passes;
  }
}

TEST_P(IdenticalTest, OfEqualImagesOneIsLeft) {
  constexpr Index kImages = 1500;
  const std::vector<std::pair<const char*, Kind>> kinds = {
      {"dies", {{}, {}, {5}}}, {"reaches the cap", {{0}, {3}, {}}}, {"lives", {{0, 6}, {}, {2}}}};
  for (const auto& [name, kind] : kinds) {
    SCOPED_TRACE(name);
    Rows rows;
    for (Index image = 0; image < kImages; ++image) append_kind(kind, rows);
    const ImageSet images = images_of(rows);
    const Outcome expected = run_all(make_network(), "none", images);
    const Outcome found = run_all(make_network(), "dead,saturated,identical", images);
    EXPECT_EQ(found.identical, kImages - 1);
    EXPECT_EQ(found.saturated, std::string_view(name) == "reaches the cap" ? 1 : 0);
    EXPECT_EQ(found.categories, expected.categories);
    EXPECT_EQ(found.alive, expected.alive);
  }
}

TEST_P(IdenticalTest, FewImages) {
  for (const Index count : {0U, 1U, 2U, 33U}) {
    SCOPED_TRACE(count);
    expect_agreement(make_network(), mixed_images(count));
  }
}

/// Images that the bounds of `merge` cannot decide are borderline, and so are their duplicates.
TEST_P(IdenticalTest, GoesWithMerge) {
  const ImageSet images = mixed_images(600);
  const Categories expected = run_all(make_network(), "none", images).categories;
  const Plan plan = make_plan(make_network(), parse_passes("twins,unused,merge,saturated,dead,identical"));
  ASSERT_TRUE(plan.passes.merge && plan.passes.identical);
  const Support support = support_of(*configuration_.variant, plan, batch_info(images), options());
  if (!support.takes()) {
    EXPECT_THROW(make(plan, images), UsageError) << support.why_not;
    return;
  }
  const RunResult found = run(*configuration_.variant, plan, images, {});
  EXPECT_EQ(found.outcome.categories, expected);
  EXPECT_GT(found.outcome.identical, 0);
  const Plan without = make_plan(make_network(), parse_passes("twins,unused,merge,saturated,dead"));
  const auto plain = make(without, images);
  plain->load(images);
  const auto engine = make(plan, images);
  engine->load(images);
  EXPECT_EQ(testing::run_through(*engine, kDepth).borderline, testing::run_through(*plain, kDepth).borderline);
}

INSTANTIATE_TEST_SUITE_P(, IdenticalTest, ::testing::Range<std::size_t>(0, configurations().size()),
                         [](const auto& test) {
                           const Configuration c = configurations()[test.param];
                           return std::string(c.variant->name) + "_" + std::string(to_string(c.precision));
                         });

}  // namespace
}  // namespace spdnn::cuda
