// What `inspect` says of a network: the variant, the threads and the memory of a rank, for its share of the images.

#include "inference/network/inspect.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "core/threads/parallel.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "support/battery.hpp"
#include "support/message_of.hpp"

namespace spdnn {
namespace {

TEST(InspectedNetworks, RanksHaveAnEqualShareOfTheImagesOrOneMore) {
  const auto share = [](Index images, int ranks) { return InspectedRun{.images = images, .ranks = ranks}.share(); };
  EXPECT_EQ(share(8, 4), 2U);
  EXPECT_EQ(share(9, 4), 3U);
  EXPECT_EQ(share(1, 4), 1U);
  EXPECT_EQ(share(7, 1), 7U);
}

struct Inspected {
  explicit Inspected(const InspectedRun& run, int threads = 3, const char* passes = "dead",
                     const char* variant = "cpu_openmp") {
    spec.variant = variant;
    spec.passes = parse_passes(passes);
    spec.threads = threads;
    given.notes = {"as read"};
    made = inspected_network(spec, given, run);
  }
  EngineOptions options(bool in_steps) const {
    EngineOptions options{.threads = made.threads};
    options.in_steps = in_steps;
    return options;
  }
  std::size_t engine(Index images, bool in_steps) const {
    return batch_bytes(find_variant("cpu_openmp"), made.plan, {images, true, true}, options(in_steps));
  }

  InferenceSpec spec;
  GivenNetwork given{testing::deep_network(6), false};
  InspectedNetwork made{make_plan({}, {})};
};

TEST(InspectedNetworks, TellPlanVariantAndThreads) {
  const Inspected one({.images = 10, .ranks = 4, .ranks_per_node = 2});
  EXPECT_EQ(one.made.choice.variant->name, "cpu_openmp");
  EXPECT_EQ(one.made.layers.size(), 6U);
  EXPECT_EQ(one.made.notes, std::vector<std::string>{"as read"});
  EXPECT_EQ(one.made.plan.passes, parse_passes("dead"));
  EXPECT_EQ(one.made.threads, 3);
  EXPECT_NE(Inspected({.images = 10, .ranks = 4}, 3, "dead", "").made.choice.why.find(", 3 images, "),
            std::string::npos);
  EXPECT_EQ(Inspected({}, 0).made.threads, host_threads());
  EXPECT_EQ(Inspected({.images = 10, .ranks = 4, .ranks_per_node = 2}, 0).made.threads,
            std::max(1, host_threads() / 2));
  EXPECT_EQ(Inspected({.images = 10, .ranks = 4, .ranks_per_node = 1 << 20}, 0).made.threads, 1);
  EXPECT_EQ(Inspected({.images = 10, .ranks = 1 << 20, .ranks_per_node = 1}, 0).made.threads, host_threads());
}

/// For ranks, a checkpoint or none: what an engine takes for the share of a rank, and for one image.
TEST(InspectedNetworks, HaveTheMemoryOfARanksShare) {
  for (const bool checkpoint : {false, true})
    for (const int ranks : {1, 4}) {
      const InspectedRun run{
          .images = 4000, .ranks = ranks, .ranks_per_node = std::min(ranks, 2), .checkpoint = checkpoint};
      const Inspected found(run);
      const MemoryEstimate expected =
          estimate_memory("", found.given.network, found.made.plan, find_variant("cpu_openmp"),
                          found.options(checkpoint), 4000 / static_cast<Index>(ranks));
      EXPECT_EQ(found.made.rank.images, expected.images);
      EXPECT_EQ(found.made.rank.engine, expected.engine);
      EXPECT_EQ(found.made.rank.given, expected.network) << "which is in memory";
      const MemoryRange engine{found.engine(run.share(), checkpoint), found.engine(1, checkpoint)};
      EXPECT_GT(engine.most, engine.least);
      const RanksEstimate all = estimate_on_ranks(expected, engine, ranks, run.ranks_per_node);
      EXPECT_EQ(found.made.memory.rank.most, all.rank.most);
      EXPECT_EQ(found.made.memory.rank.least, all.rank.least);
      EXPECT_EQ(found.made.memory.first_node.most, all.first_node.most);
      EXPECT_EQ(found.made.memory.node.most, all.node.most);
    }
}

TEST(InspectedNetworks, AreReadWhereTheyFit) {
  InferenceSpec spec;
  spec.network.neurons = {1024};
  spec.network.layers = 2;
  EXPECT_EQ(load_to_inspect(spec, 0).network.layers.size(), 2U);
  EXPECT_THROW(load_to_inspect(spec, 1000), DeviceError);
}

}  // namespace
}  // namespace spdnn
