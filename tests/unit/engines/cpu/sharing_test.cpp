// Engines that have loaded the same images and share their work.

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "engines/engine.hpp"
#include "support/battery.hpp"

namespace spdnn {
namespace {

/// Two engines of a plan that take parts from one counter.
class SharedImages : public ::testing::TestWithParam<std::pair<const char*, Precision>> {
 protected:
  static constexpr Index kImages = 1000;

  SharedImages() : images_(testing::bit_images(rng_, kImages, 64, 0.4)) {
    plan_ = testing::unreduced_plan(testing::deep_network(12), parse_passes(GetParam().first));
    for (int number = 0; number < 3; ++number) {
      engines_.push_back(make_engine(find_variant("cpu_openmp"), std::make_shared<const Plan>(plan_),
                                     batch_info(images_), {.precision = GetParam().second, .threads = 2}));
      engines_.back()->load(images_);
    }
    for (const std::size_t number : {0U, 1U})
      sharing(number).share([this, number](Index parts) {
        if (number == 1 && sharing(1).taken().size() == 3) return parts;  // it is slow
        return std::min(next_++, parts);
      });
  }

  SharingEngine& sharing(std::size_t number) { return dynamic_cast<SharingEngine&>(*engines_[number]); }
  Outcome run(std::size_t number) {
    engines_[number]->reset();
    for (Index layer = 0; layer < plan_.depth();) layer = engines_[number]->advance(layer, plan_.depth());
    return engines_[number]->outcome();
  }

  testing::Rng rng_{8};
  ImageSet images_;
  Plan plan_;
  std::vector<std::unique_ptr<Engine>> engines_;  ///< the last has all images
  Index next_ = 0;
};

TEST_P(SharedImages, EachIsRunByOneOfTheEngines) {
  const Outcome all = run(2);
  ASSERT_GT(all.categories.size(), 50U);
  const Outcome slow = run(1);
  const Outcome rest = run(0);
  EXPECT_EQ(sharing(1).taken().size(), 3U);
  Categories both;
  std::merge(slow.categories.begin(), slow.categories.end(), rest.categories.begin(), rest.categories.end(),
             std::back_inserter(both));
  EXPECT_EQ(both, all.categories);
  EXPECT_FALSE(slow.categories.empty());
  for (std::size_t layer = 0; layer < all.alive.size(); ++layer)
    EXPECT_EQ(slow.alive[layer] + rest.alive[layer], all.alive[layer]) << "after layer " << layer;
}

TEST_P(SharedImages, LaterRunsHaveTheSame) {
  const Outcome first = run(1);
  const std::vector<Index> taken = sharing(1).taken();
  EXPECT_EQ(run(1).categories, first.categories);
  EXPECT_EQ(sharing(1).taken(), taken);
  EXPECT_EQ(next_, 3U);
}

TEST_P(SharedImages, ImagesThatAreLoadedAnewAreNotShared) {
  run(1);
  engines_[1]->load(images_);
  EXPECT_EQ(run(1).categories, run(2).categories);
  EXPECT_TRUE(sharing(1).taken().empty());
}

INSTANTIATE_TEST_SUITE_P(PassesAndPrecisions, SharedImages,
                         ::testing::Values(std::pair{"dead", Precision::fp32}, std::pair{"all", Precision::fp32},
                                           std::pair{"none", Precision::fp32}, std::pair{"dead", Precision::fp64}));

}  // namespace
}  // namespace spdnn
