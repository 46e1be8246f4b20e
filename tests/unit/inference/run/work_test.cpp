// Pieces of a run: the remaining layers and images after a stop, and the sum of the pieces' outcomes.

#include "inference/run/work.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "inference/checkpoint/checkpoint.hpp"
#include "inference/run/outcomes.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"

namespace spdnn {
namespace {

Plan plan_with_certificates(Index dead_from, Index saturated_from) {
  Plan plan = testing::unreduced_plan(testing::deep_network(6));
  plan.certificates = {dead_from, saturated_from};
  return plan;
}

TEST(PlanFrom, CertificatesCountFromTheFirstLayerThatIsLeft) {
  const Plan plan = plan_with_certificates(2, 5);
  for (const Index layer : {0U, 1U, 3U, 5U}) {
    const Plan rest = plan_from(plan, layer);
    EXPECT_EQ(rest.depth(), 6 - layer);
    testing::expect_equal(rest.layers, {plan.layers.begin() + layer, plan.layers.end()});
    EXPECT_EQ(rest.expansion.size(), 6 - layer);
    EXPECT_EQ(rest.certificates.dead_from, layer < 2 ? 2 - layer : 0);
    EXPECT_EQ(rest.certificates.saturated_from, 5 - layer);
  }
}

/// Of layers that have their number as their bias.
class NumberedLayers final : public LayerStream {
 public:
  using LayerStream::LayerStream;
  Layer read(Index k) const override { return testing::make_layer(4, {{{0, 1.F}}}, k); }
  std::uint64_t bytes_read() const override { return 77; }
};

TEST(PlanFrom, OfAStreamTheLayersThatAreLeftAreRead) {
  std::vector<LayerShape> shapes(5);
  for (Index k = 0; k < 5; ++k) shapes[k].outputs = 10 + k;
  std::vector<LayerBounds> bounds(5);
  for (Index k = 0; k < 5; ++k) bounds[k].terms = k;
  Plan plan;
  plan.streamed =
      std::make_shared<const StreamedLayers>(StreamedLayers{std::make_shared<const NumberedLayers>(shapes), bounds, 3});
  plan.expansion.resize(5);
  for (const Index layer : {1U, 3U}) {
    const Plan left = plan_from(plan, layer);
    const StreamedLayers& rest = *left.streamed;
    EXPECT_EQ(rest.stream->shapes().size(), 5 - layer);
    EXPECT_EQ(rest.stream->bytes_read(), 77U);
    EXPECT_EQ(rest.at_once, 3U);
    EXPECT_EQ(rest.bounds.size(), 5 - layer);
    for (Index k = 0; k + layer < 5; ++k) {
      EXPECT_EQ(rest.stream->read(k).bias.uniform, layer + k);
      EXPECT_EQ(rest.stream->shapes()[k].outputs, 10 + layer + k);
      EXPECT_EQ(rest.bounds[k].terms, layer + k);
    }
  }
}

TEST(PlanFrom, BoundsOfAMergedPlanHoldFromTheFirstLayerOnAlone) {
  Plan plan = plan_with_certificates(0, 6);
  plan.fallback = Fallback{std::vector<double>(6, 0.1), std::make_shared<const Plan>(plan)};
  EXPECT_THROW(plan_from(plan, 1), std::logic_error);
  EXPECT_EQ(plan_from(plan, 0).depth(), 6U);
}

TEST(ImagesOfAll, AreAsWideAsTheWidestInTheOrderOfThePieces) {
  const Work narrow{1, {4, 7}, {testing::make_matrix(3, {{{0, 0.5F}}, {{2, 2.0F}}})}};
  const Work wide{2, {1}, {testing::make_matrix(9, {{{1, 1.0F}, {8, 0.25F}}})}};
  const Work none{3, {2}, {testing::make_matrix(5, {{}})}};
  const testing::Rows expected{{{0, 0.5F}}, {{2, 2.0F}}, {{1, 1.0F}, {8, 0.25F}}, {}};
  testing::expect_equal(images_of_all({&narrow, &wide, &none}).to_csr(), testing::make_matrix(9, expected));
  testing::expect_equal(images_of_all({&wide}).to_csr(), wide.images.to_csr());
}

/// Of four processes.
class OfFour final : public BatchSource {
 public:
  Index largest(Index least) const override { return least; }
  ImageRange take(const Wish& /*wish*/) override { return {}; }
  Index take_part(Index parts) override { return parts; }
  void restart() override {}
  int sharers() const override { return 4; }
};

TEST(ImageBytes, AreThisProcessesShareOfImagesThatSeveralHave) {
  Work work{0, {}, {testing::make_matrix(64, testing::Rows(8, {{0, 0.5F}, {3, 2.0F}}))}};
  const std::size_t bytes = work.images.bytes();
  EXPECT_EQ(image_bytes({}), 0U);
  EXPECT_EQ(image_bytes({work, work}), 2 * bytes);
  work.batches = std::make_shared<OfFour>();
  EXPECT_EQ(image_bytes({work}), bytes / 4);
}

TEST(Outcomes, ImagesOfALaterBatchAreNumberedOnAndCountsAdded) {
  Outcome all{.categories = {1}, .alive = {3, 2}, .active = {3, -1}, .saturated = 1, .identical = 2, .borderline = {}};
  append_outcome(all,
                 {.categories = {0, 2},
                  .alive = {2, 2},
                  .active = {2, 2},
                  .saturated = 4,
                  .identical = 1,
                  .borderline = {2},
                  .overflow = {{1, 0}}},
                 10);
  EXPECT_EQ(all.categories, (Categories{1, 10, 12}));
  EXPECT_EQ(all.borderline, (std::vector<Index>{12}));
  EXPECT_EQ(all.overflow, (std::vector<Overflow>{{11, 0}}));
  EXPECT_EQ(all.alive, (std::vector<std::int64_t>{5, 4}));
  EXPECT_EQ(all.active, (std::vector<std::int64_t>{5, -1})) << "what one batch does not count, nobody knows";
  EXPECT_EQ(all.saturated, 5);
  EXPECT_EQ(all.identical, 3);
  append_outcome(all, {.categories = {}, .alive = {}, .active = {1}, .borderline = {}}, 20);
  EXPECT_TRUE(all.alive.empty());
  EXPECT_EQ(all.active, (std::vector<std::int64_t>{6, -1}));
}

TEST(Outcomes, ImagesAndLayersOfAPieceAreThoseOfTheWholeRun) {
  const Work work{4, {2, 11, 5, 9}, {}};
  const Outcome piece{.categories = {0, 3}, .alive = {4, 3}, .active = {4, 3}, .borderline = {1}, .overflow = {{2, 1}}};
  const Outcome found = in_whole_run(piece, work, 6);
  EXPECT_EQ(found.categories, (Categories{2, 9}));
  EXPECT_EQ(found.borderline, (std::vector<Index>{11}));
  EXPECT_EQ(found.overflow, (std::vector<Overflow>{{5, 5}}));
  EXPECT_TRUE(found.alive.empty()) << "of earlier layers nobody knows";
  EXPECT_EQ(found.active, (std::vector<std::int64_t>{-1, -1, -1, -1, 4, 3}));
  const Outcome whole = in_whole_run(piece, {0, {2, 11, 5, 9}, {}}, 2);
  EXPECT_EQ(whole.alive, piece.alive);
  EXPECT_EQ(whole.active, piece.active);
}

TEST(Outcomes, OfOtherImagesComeInTheOrderOfTheIds) {
  Outcome all{.categories = {4, 9}, .alive = {2}, .active = {3}, .borderline = {7}, .overflow = {{8, 0}}};
  merge_outcomes(all, {{.categories = {1, 6}, .alive = {5}, .active = {5}, .borderline = {2}, .overflow = {{3, 1}}},
                       {.categories = {5}, .alive = {1}, .active = {1}, .borderline = {}, .overflow = {{0, 2}}}});
  EXPECT_EQ(all.categories, (Categories{1, 4, 5, 6, 9}));
  EXPECT_EQ(all.borderline, (std::vector<Index>{2, 7}));
  EXPECT_EQ(all.overflow, (std::vector<Overflow>{{0, 2}, {3, 1}, {8, 0}}));
  EXPECT_EQ(all.alive, (std::vector<std::int64_t>{8}));
  EXPECT_EQ(all.active, (std::vector<std::int64_t>{9}));
}

TEST(JoinPieces, IdsAscend) {
  std::vector<Work> work{{0, {2, 0}, {}}, {0, {1}, {}}};
  join_pieces(work);
  ASSERT_EQ(work.size(), 1U);
  EXPECT_EQ(work[0].ids, (std::vector<Index>{0, 1, 2}));
}

TEST(ConcludeWork, AddsWhatIsKnownAndKeepsWhatIsLeft) {
  Checkpoint checkpoint;
  checkpoint.known.categories = {3};
  checkpoint.left = {{0, {2, 5, 9, 11}, {}}};
  Outcome done;
  done.categories = {2, 11};
  conclude_work(done, {{0, {12}, {}}, {5, {9}, {}}, {0, {5}, {}}, {5, {7}, {}}}, checkpoint);
  EXPECT_EQ(checkpoint.known.categories, (Categories{2, 3, 11}));
  ASSERT_EQ(checkpoint.left.size(), 3U) << "what had been begun stays in pieces, in the order of its activations";
  EXPECT_EQ(checkpoint.left[0].ids, (std::vector<Index>{9}));
  EXPECT_EQ(checkpoint.left[1].ids, (std::vector<Index>{7}));
  EXPECT_EQ(checkpoint.left[2].ids, (std::vector<Index>{5, 12}));
}

}  // namespace
}  // namespace spdnn
