#include "inference/network/verify.hpp"

#include <gtest/gtest.h>

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
