#include "inference/network/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "data/official/constants.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"

namespace spdnn {
namespace {

TEST(RecomputedImages, TakeNoMoreMemoryThanIsLeft) {
  const Network network = testing::deep_network(4);
  testing::Rng rng(2);
  const ImageSet images = testing::bit_images(rng, 8, 64, 0.4);
  const Plan plan = make_plan(network, {});
  CheckedRun problem{.plan = plan,
                     .plan_given = [&](const Passes& passes) { return make_plan(network, passes); },
                     .images = 8,
                     .neurons = 64,
                     .images_of = [&](std::span<const Index> ids) { return images.select(ids); },
                     .at_once = 8,
                     .why_unofficial = "the network is a test's"};
  const Truth truth{.list = {}, .source = {}, .sample = 0, .everything = true};
  EXPECT_NO_THROW(verify(truth, problem, {}));
  problem.host_memory = plan.bytes() + images.bytes();
  EXPECT_THROW(verify(truth, problem, {}), DeviceError);
}

TEST(RecomputedImages, HaveTheCategoriesThatWereFoundAmongThem) {
  const Network network = testing::deep_network(4);
  testing::Rng rng(2);
  const ImageSet images = testing::bit_images(rng, 40, 64, 0.4);
  const Plan plan = make_plan(network, {});
  std::set<Index> recomputed;
  const CheckedRun problem{.plan = plan,
                           .plan_given = [&](const Passes& passes) { return make_plan(network, passes); },
                           .images = 40,
                           .neurons = 64,
                           .images_of =
                               [&](std::span<const Index> ids) {
                                 recomputed.insert(ids.begin(), ids.end());
                                 return images.select(ids);
                               },
                           .at_once = 40,
                           .why_unofficial = "the network is a test's"};
  verify({.list = {}, .source = {}, .sample = 4, .everything = false}, problem, {3, 17});
  EXPECT_EQ(recomputed.size(), 4U);
  EXPECT_TRUE(recomputed.contains(3) && recomputed.contains(17));
}

/// A problem of 10 images with the categories 3 and 7, and what is recomputed of it.
std::set<Index> recomputed_of(Index sample, const Categories& categories, Index images = 10) {
  const Network network = testing::deep_network(4);
  testing::Rng rng(2);
  const ImageSet all = testing::bit_images(rng, images, 64, 0.4);
  const Plan plan = make_plan(network, {});
  std::set<Index> recomputed;
  const CheckedRun problem{.plan = plan,
                           .plan_given =
                               [&](const Passes& passes) {
                                 EXPECT_EQ(to_string(passes), "dead") << "of which the reference is sure";
                                 return make_plan(network, passes);
                               },
                           .images = images,
                           .neurons = 64,
                           .images_of =
                               [&](std::span<const Index> ids) {
                                 recomputed.insert(ids.begin(), ids.end());
                                 return all.select(ids);
                               },
                           .at_once = 3,
                           .why_unofficial = "the network is a test's"};
  const Verdict found = verify({.list = {}, .source = {}, .sample = sample, .everything = false}, problem, categories);
  EXPECT_EQ(found.checks.at(0) == "cpu_reference on all images", sample >= images);
  return recomputed;
}

TEST(RecomputedImages, AreHalfCategoriesAsLongAsThereAreSoMany) {
  const auto categories_among = [](Index sample, const Categories& categories) {
    const std::set<Index> found = recomputed_of(sample, categories);
    EXPECT_EQ(found.size(), sample);
    return std::count_if(categories.begin(), categories.end(), [&](Index one) { return found.contains(one); });
  };
  EXPECT_EQ(categories_among(4, {1, 3, 5, 7, 9}), 2);
  EXPECT_EQ(categories_among(4, {3}), 1);
  EXPECT_EQ(categories_among(4, {}), 0);
  EXPECT_EQ(categories_among(6, {0, 1, 2, 3, 4, 5, 6, 7}), 4) << "the rest are only two";
  EXPECT_EQ(recomputed_of(10, {3}).size(), 10U);
  EXPECT_EQ(recomputed_of(11, {3}).size(), 10U);
}

/// Each of these is a problem that proves nothing, whatever was compared.
TEST(Verify, NothingIsProvedWhereThereIsNothingToCompute) {
  const ImageSet images{testing::make_matrix(4, testing::Rows(2))};
  const auto said = [&](const Network& network, Index count, const std::optional<Categories>& list) {
    const Plan plan = make_plan(network, {});
    const CheckedRun problem{.plan = plan,
                             .plan_given = [&](const Passes& passes) { return make_plan(network, passes); },
                             .images = count,
                             .neurons = 4,
                             .images_of = [&](std::span<const Index> ids) { return images.select(ids); },
                             .at_once = 2,
                             .why_unofficial = "it is a test's"};
    return verify({.list = list, .source = "a list", .sample = 0, .everything = false}, problem, {});
  };
  const Network edges{{testing::make_layer(4, {{{0, 1.F}}, {}, {}, {}}, -1)}};
  const Network no_edges{{testing::make_layer(4, testing::Rows(4), -1)}};
  EXPECT_EQ(said(edges, 2, {}).against, "nothing: no truth was given, and it is a test's");
  EXPECT_EQ(said(edges, 2, Categories{}).status, Verdict::Status::passed);
  EXPECT_EQ(said(edges, 2, Categories{1}).status, Verdict::Status::failed);
  for (const bool listed : {false, true}) {
    const auto list = listed ? std::optional(Categories{}) : std::nullopt;
    EXPECT_EQ(said(edges, 0, list).against, "nothing: there are no images");
    EXPECT_EQ(said(Network{}, 2, list).against, "nothing: the network has no layers");
    EXPECT_EQ(said(no_edges, 2, list).against, "nothing: the network has no edges");
  }
  EXPECT_EQ(said(no_edges, 2, Categories{1}).status, Verdict::Status::failed) << "a wrong list is wrong all the same";
}

TEST(Verify, AGivenListTheReferenceAndTheOfficialListAreAllCompared) {
  const Network network = testing::deep_network(4);
  testing::Rng rng(2);
  const ImageSet images = testing::bit_images(rng, 8, 64, 0.4);
  const Plan plan = make_plan(network, {});
  const CheckedRun problem{.plan = plan,
                           .plan_given = [&](const Passes& passes) { return make_plan(network, passes); },
                           .images = 8,
                           .neurons = 1024,  // whose categories are none of these
                           .images_of = [&](std::span<const Index> ids) { return images.select(ids); },
                           .at_once = 8,
                           .why_unofficial = {}};
  const Verdict found =
      verify({.list = Categories{1}, .source = "a list", .sample = 0, .everything = true}, problem, {1});
  EXPECT_EQ(found.checks, (std::vector<std::string>{"a list", "cpu_reference on all images", kOfficialTruth}));
  EXPECT_EQ(found.status, Verdict::Status::failed);
}

}  // namespace
}  // namespace spdnn
