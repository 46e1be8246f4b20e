// Pieces of a run: the layers and the images that are left after a stop, and what the outcomes of pieces add up to.

#include "inference/work.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

#include "inference/checkpoint.hpp"
#include "inference/outcomes.hpp"
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

TEST(PlanFrom, BoundsOfAMergedPlanHoldFromTheFirstLayerOnAlone) {
  Plan plan = plan_with_certificates(0, 6);
  plan.fallback = Fallback{std::vector<double>(6, 0.1), std::make_shared<const Plan>(plan)};
  EXPECT_THROW(plan_from(plan, 1), std::logic_error);
}

TEST(ImagesOfAll, AreAsWideAsTheWidestInTheOrderOfThePieces) {
  const Work narrow{1, {4, 7}, {testing::make_matrix(3, {{{0, 0.5F}}, {{2, 2.0F}}})}};
  const Work wide{2, {1}, {testing::make_matrix(9, {{{1, 1.0F}, {8, 0.25F}}})}};
  const Work none{3, {2}, {testing::make_matrix(5, {{}})}};
  const testing::Rows expected{{{0, 0.5F}}, {{2, 2.0F}}, {{1, 1.0F}, {8, 0.25F}}, {}};
  testing::expect_equal(images_of_all({&narrow, &wide, &none}).to_csr(), testing::make_matrix(9, expected));
  testing::expect_equal(images_of_all({&wide}).to_csr(), wide.images.to_csr());
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

TEST(ConcludeWork, ImagesAndLayersAreThoseOfTheWholeRun) {
  Checkpoint checkpoint;
  checkpoint.known.categories = {3};
  checkpoint.known.active.assign(6, 0);
  const Work work{4, {2, 5, 9, 11}, {testing::make_matrix(64, {{}, {}, {}, {}})}};
  RankedResult result;
  result.result.outcome = {
      .categories = {0, 3}, .alive = {}, .active = {4, 3}, .borderline = {1}, .overflow = {{2, 1}}};
  result.left.push_back({5, {1}, {testing::make_matrix(64, {{{1, 1.0F}}})}});
  result.left.push_back({4, {2}, {}});
  conclude_work(work, result, 6, checkpoint);
  EXPECT_EQ(checkpoint.known.categories, (Categories{2, 3, 11}));
  EXPECT_EQ(checkpoint.known.borderline, (std::vector<Index>{5}));
  EXPECT_EQ(checkpoint.known.overflow, (std::vector<Overflow>{{9, 5}}));
  EXPECT_EQ(checkpoint.known.active, (std::vector<std::int64_t>{-1, -1, -1, -1, 4, 3}));
  ASSERT_EQ(checkpoint.left.size(), 2U);
  EXPECT_EQ(checkpoint.left[0].ids, (std::vector<Index>{5}));
  EXPECT_EQ(checkpoint.left[1].ids, (std::vector<Index>{9}));
  EXPECT_EQ(checkpoint.left[1].images.images(), 1U) << "not begun in this part, but in one before";
}

}  // namespace
}  // namespace spdnn
