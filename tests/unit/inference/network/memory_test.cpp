// What networks, plans and ranks take of memory, against sums by hand, and which networks are streamed to save it.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "core/threads/parallel.hpp"
#include "data/generate.hpp"
#include "inference/network/memory_estimate.hpp"
#include "inference/network/streaming.hpp"
#include "io/packed/format.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/message_of.hpp"
#include "support/streamed.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Each part is larger than all before it together.
MemoryEstimate parts_of_memory() {
  MemoryEstimate one;
  one.program = 1;
  one.reading = 20;
  one.network = one.given = 300;
  one.planning = 4000;
  one.plan = 50000;
  one.shared = 600000;
  one.images = 7000000;
  one.engine = 80000000;
  return one;
}

TEST(MemoryEstimates, OfARunAreTheMostOfReadingPlanningAndRunning) {
  MemoryEstimate one = parts_of_memory();
  EXPECT_EQ(one.before_running(), 300 + 50000U);
  EXPECT_EQ(one.host_peak(), 7000001 + 600000 + 50000 + 80000000U);
  one.device = Device::cuda;
  EXPECT_EQ(one.host_peak(), 7000001 + 600000 + 50000U);
  one.shared = 0;
  EXPECT_EQ(one.host_peak(), 7000001 + 300 + 50000U);
  std::swap(one.plan, one.planning);
  EXPECT_EQ(one.before_running(), 300 + 50000U);
  one.reading = 60000;
  EXPECT_EQ(one.before_running(), 300 + 60000U);
  one.given = 200;  // layers are planned as they are read
  EXPECT_EQ(one.before_running(), 200 + 60000 + 50000U);
  std::swap(one.plan, one.planning);
  EXPECT_EQ(one.before_running(), 200 + 60000 + 50000U);
}

TEST(MemoryEstimates, OfRanksCountThePlanOnceForANode) {
  constexpr std::size_t kMpi = std::size_t{12} << 20U;
  MemoryEstimate one = parts_of_memory();
  const MemoryRange engine{90000000, 1000};
  const auto expect = [&](const RanksEstimate& all, std::size_t waiting, std::size_t on_node, bool cuda) {
    for (std::size_t MemoryRange::*field : {&MemoryRange::most, &MemoryRange::least}) {
      const std::size_t own = waiting + (cuda ? 0 : engine.*field);
      EXPECT_EQ(all.rank.*field, 650000 + own);
      EXPECT_EQ(all.node.*field, 650000 + on_node * own);
      EXPECT_EQ(all.first_node.*field, std::max(650000 + on_node * own, on_node * waiting + one.before_running()));
      EXPECT_EQ(all.device.*field, cuda ? engine.*field : 0);
    }
  };
  expect(estimate_on_ranks(one, engine, 1, 4), 7000001, 1, false);
  expect(estimate_on_ranks(one, engine, 3, 4), 7000001 + kMpi, 3, false);
  expect(estimate_on_ranks(one, engine, 8, 4), 7000001 + kMpi, 4, false);
  one.device = Device::cuda;
  expect(estimate_on_ranks(one, engine, 8, 2), 7000001 + kMpi, 2, true);
  one.planning = 1000000000;  // more than the plan and what its engine takes
  expect(estimate_on_ranks(one, engine, 8, 2), 7000001 + kMpi, 2, true);
}

/// A plan that leaves the layers as they are has their arrays.
TEST(MemoryEstimates, TellWhatThePlanSharesWithTheNetwork) {
  const ThreadLimit limit(2);
  testing::Rng rng(3);
  Network network;
  network.layers = {testing::random_layer(rng, 70, 90, 5, 0.1, 1, -0.1),
                    testing::random_layer(rng, 90, 30, 7, 0.1, 1, -0.1)};
  const auto estimate = [&](const char* passes, const std::string& path, Index images) {
    return estimate_memory(path, network, make_plan(network, parse_passes(passes)), find_variant("cpu_openmp"), {},
                           images);
  };
  std::size_t arrays = 0;
  for (const Layer& layer : network.layers)
    arrays += layer.weights.offsets.bytes() + layer.weights.indices.bytes() + layer.weights.values.bytes() +
              layer.bias.values.bytes();
  const MemoryEstimate one = estimate("dead", "", 5);
  EXPECT_EQ(one.shared, arrays);
  EXPECT_EQ(one.plan, make_plan(network, parse_passes("dead")).bytes() - arrays);
  EXPECT_EQ(one.images, 5 * 16U) << "two words each";
  EXPECT_EQ(one.batch, 5U);
  EXPECT_EQ(one.network, network.bytes());
  EXPECT_EQ(one.given, network.bytes());
  EXPECT_EQ(one.planning, planning_bytes(network));
  EXPECT_GT(one.engine, 0U);
  EngineOptions limited;
  limited.host_memory = std::size_t{1} << 20U;
  const Plan plan = make_plan(network, parse_passes("dead"));
  const MemoryEstimate many = estimate_memory("", network, plan, find_variant("cpu_openmp"), limited, 1U << 16U);
  EXPECT_LE(many.engine, limited.host_memory) << "of a batch, not of all images";
  EXPECT_EQ(one.reading, 0U);
  const TemporaryDirectory directory;
  write_network(directory / "n.spdnn", Form::packed, network);
  write_network(directory / "text", Form::tsv, network);
  EXPECT_EQ(estimate("dead", (directory / "n.spdnn").string(), 5).reading, 2 * packed::kBlockBytes);
  EXPECT_EQ(estimate("dead", (directory / "text").string(), 5).reading, 2 * 30 * std::size_t{90 * 5});
}

TEST(MemoryEstimates, OfLayersThatArePlannedAnewShareNothing) {
  Network network;
  network.layers = {testing::make_layer(2, {{{0, 1.F}}, {{0, 1.F}}, {{1, 1.F}}}, -0.5),
                    testing::make_layer(3, {{{0, 1.F}, {2, 1.F}}, {{1, 2.F}}}, -0.5)};
  const Plan plan = make_plan(network, parse_passes("twins"));
  ASSERT_LT(plan.edges(), network.edges());
  const MemoryEstimate one = estimate_memory("", network, plan, find_variant("cpu_openmp"), {}, 5);
  EXPECT_EQ(one.shared, 0U);
  EXPECT_EQ(one.plan, plan.bytes());
}

/// A neuron takes 12 bytes in its place, and 32 more while its layer is at work: as many layers as there are threads.
TEST(MemoryEstimates, OfPlanningHaveTheLargestLayersAtWork) {
  const ThreadLimit limit(2);
  testing::Rng rng(3);
  Network network;
  for (const Index outputs : {30U, 1000U, 20U, 500U})
    network.layers.push_back(testing::random_layer(rng, 10, outputs, 2, 0.1, 1, -0.1));
  EXPECT_EQ(planning_bytes(network), 1550 * 12 + 1500 * 32U);
  const std::size_t needed = network.bytes() + planning_bytes(network);
  EXPECT_NO_THROW(require_room_to_plan(network, needed));
  EXPECT_THROW(require_room_to_plan(network, needed - 1), DeviceError);
}

TEST(MayPlanWhileReading, PassesThatReduceLayersAndNeedNoneOfTheOthers) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    Passes passes{};
    passes.twins = (bits & 1U) != 0;
    passes.unused = (bits & 2U) != 0;
    passes.merge = (bits & 4U) != 0;
    passes.saturated = (bits & 8U) != 0;
    passes.dead = (bits & 16U) != 0;
    passes.identical = (bits & 32U) != 0;
    EXPECT_EQ(may_plan_while_reading(passes), (bits & 3U) != 0 && (bits & 4U) == 0) << to_string(passes);
  }
}

/// Only as it is made unasked.
TEST(StreamsToSaveMemory, OfficialNetworksWithParametersOfTheirOwnAreMadeInMemory) {
  const auto streamed = [](void (*change)(NetworkSpec&)) {
    NetworkSpec spec;
    spec.neurons = {1024};
    spec.layers = 6;
    change(spec);
    return stream_to_save_memory(spec, true, 1000).has_value();
  };
  EXPECT_TRUE(streamed([](NetworkSpec&) {}));
  EXPECT_FALSE(streamed([](NetworkSpec& spec) { spec.bias = -0.5; }));
  EXPECT_FALSE(streamed([](NetworkSpec& spec) { spec.bias_rule = BiasRule::everywhere; }));
  EXPECT_FALSE(streamed([](NetworkSpec& spec) { spec.cap = {8.0}; }));
  EXPECT_FALSE(streamed([](NetworkSpec& spec) { spec.layers.reset(); }));
  EXPECT_FALSE(streamed([](NetworkSpec& spec) { spec.neurons = {1024, 1024}; }));
}

TEST(StreamsToSaveMemory, PackedNetworksHaveParametersOfTheirOwn) {
  const TemporaryDirectory directory;
  NetworkSpec spec;
  spec.path = (directory / "n.spdnn").string();
  write_network(spec.path, Form::packed, testing::deep_network(6));
  const auto refused = [](const NetworkSpec& with) {
    return testing::message_of<UsageError>([&] { stream_if_too_large(with, 1000); });
  };
  EXPECT_TRUE(stream_if_too_large(spec, 1000));
  NetworkSpec with = spec;
  with.bias = -0.5;
  EXPECT_TRUE(refused(with).starts_with("bias: ")) << refused(with);
  with = spec;
  with.bias_rule = BiasRule::everywhere;
  EXPECT_TRUE(refused(with).starts_with("bias_rule: ")) << refused(with);
  with = spec;
  with.cap = {8.0};
  EXPECT_TRUE(refused(with).starts_with("cap: ")) << refused(with);
}

/// A directory of layers without their parameters takes those that are given; without any, only the official bias.
TEST(StreamsToSaveMemory, TextTakesTheParametersThatItLacks) {
  const TemporaryDirectory directory;
  const auto opened = [&](const Network& network, void (*change)(NetworkSpec&)) {
    NetworkSpec spec;
    spec.path = (directory / "text").string();
    std::filesystem::remove_all(spec.path);
    write_network(spec.path, Form::tsv, network);
    std::filesystem::remove(directory / "text/spdnn-network.txt");
    change(spec);
    return stream_text_if_too_large(spec, 1000).value().network;
  };
  const Network official = generate_official_network(1024, 2);
  const auto nothing = [](NetworkSpec&) {};
  const NetworkStream as_it_is = opened(official, nothing);
  EXPECT_EQ(as_it_is.layers->read(1).bias.uniform, official.layers[1].bias.uniform);
  EXPECT_EQ(as_it_is.cap, 32);
  EXPECT_EQ(as_it_is.bias_rule, BiasRule::non_zeros);
  const NetworkStream with_all = opened(official, [](NetworkSpec& spec) {
    spec.bias = -0.5;
    spec.cap = {8.0};
    spec.bias_rule = BiasRule::everywhere;
  });
  EXPECT_EQ(with_all.layers->read(1).bias.uniform, -0.5);
  EXPECT_EQ(with_all.cap, 8);
  EXPECT_EQ(with_all.bias_rule, BiasRule::everywhere);
  Network other = testing::deep_network(3);
  const NetworkStream none = opened(other, nothing);
  EXPECT_EQ(testing::message_of<UsageError>([&] { none.layers->read(0); }),
            "bias: " + (directory / "text").string() + " is not of official form and has no biases: give one");
  EXPECT_EQ(opened(other, [](NetworkSpec& spec) { spec.bias = 0.25; }).layers->read(2).bias.uniform, 0.25);
}

/// Text is refused before it is read where four times as much would not fit, and then by what it takes.
TEST(StreamsToSaveMemory, TextThatCannotBeStreamedNeedsRoom) {
  const TemporaryDirectory directory;
  NetworkSpec spec;
  spec.path = (directory / "text").string();
  const Network network = testing::deep_network(12);
  write_network(spec.path, Form::tsv, network);
  const std::size_t expected = stream_text_if_too_large(spec, 1000).value().network.bytes();
  EXPECT_NO_THROW(require_room_for_text(spec, expected / 2));
  EXPECT_THROW(require_room_for_text(spec, expected / 4), DeviceError);
  EXPECT_NO_THROW(require_room(spec, network, 0)) << "no limit";
  for (const Index depth : {1U, 2U, 3U, 12U}) {  // of some of them, three quarters of `enough` is all that they take
    const Network one = testing::deep_network(depth);
    const std::size_t enough = (one.bytes() + 2) / 3 * 4;
    EXPECT_NO_THROW(require_room(spec, one, enough));
    EXPECT_THROW(require_room(spec, one, enough - 4), DeviceError);
  }
}

TEST(HostMemoryForAnEngine, IsWhatPlanImagesAndStreamedLayersLeave) {
  const Network network = testing::deep_network(12);
  const Plan plan = make_plan(network, {});
  const Plan streamed = testing::streamed_plan(testing::stream_of(network), {}, 3);
  EXPECT_EQ(host_memory_for_engine(0, plan, 1000), 0U) << "no limit";
  const std::size_t of_streamed = host_memory_for_engine(0, streamed, 1000);
  EXPECT_GT(of_streamed, 0U);
  EXPECT_EQ(host_memory_for_engine(plan.bytes() + 1000 + 77, plan, 1000), 77U);
  EXPECT_EQ(host_memory_for_engine(plan.bytes() + 1000, plan, 1000), 1U);
  EXPECT_EQ(host_memory_for_engine(10, plan, 1000), 1U);
  EXPECT_LT(host_memory_for_engine(std::size_t{1} << 60U, plan, 1000), std::size_t{1} << 59U) << "the machine's";
}

}  // namespace
}  // namespace spdnn
