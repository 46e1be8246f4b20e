// Networks whose layers are streamed: the same plans, the same activations bit for bit, few layers in memory at a time,
// and errors for files that are invalid, or become so during the run.

#include "inference/network/streaming.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <fstream>
#include <string_view>
#include <thread>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/read_ahead.hpp"
#include "data/generate.hpp"
#include "engines/engine.hpp"
#include "engines/overflow.hpp"
#include "inference/network/memory_estimate.hpp"
#include "inference/run/run.hpp"
#include "io/packed/digests.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/sampled.hpp"
#include "support/streamed.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Case;
using testing::CopiedLayers;

const std::vector<Case>& streamed_cases() {
  static const std::vector<Case> all = testing::battery();
  return all;
}

/// The engines on the CPU: all of them take streamed layers.
std::vector<testing::Configuration> streamed_configurations() {
  return testing::configurations_that([](const Variant& variant, Precision) { return variant.device == Device::cpu; });
}

constexpr std::array<const char*, 2> kPasses{"none", "dead,saturated,identical"};

template <class T>
bool same_plans(const Array<T>& a, const Array<T>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

void expect_same_layer(const Layer& a, const Layer& b) {
  EXPECT_EQ(a.inputs(), b.inputs());
  EXPECT_EQ(a.outputs(), b.outputs());
  EXPECT_TRUE(same_plans(a.weights.offsets, b.weights.offsets) && same_plans(a.weights.indices, b.weights.indices));
  for (Offset k = 0; k < a.weights.entries(); ++k) ASSERT_EQ(a.weights.entry_value(k), b.weights.entry_value(k));
  for (Index j = 0; j < a.outputs(); ++j) EXPECT_EQ(a.bias[j], b.bias[j]);
}

void expect_same_certificates(const Plan& a, const Plan& b) {
  EXPECT_EQ(a.passes, b.passes);
  EXPECT_EQ(a.certificates.dead_from, b.certificates.dead_from);
  EXPECT_EQ(a.certificates.saturated_from, b.certificates.saturated_from);
  EXPECT_EQ(a.provenance.notes, b.provenance.notes);
  EXPECT_EQ(a.provenance.given_edges, b.provenance.given_edges);
  EXPECT_EQ(a.provenance.given_neurons, b.provenance.given_neurons);
  EXPECT_EQ(a.edges(), b.edges());
  for (Index k = 0; k < a.depth(); ++k) EXPECT_EQ(a.bias_range(k), b.bias_range(k));
}

/// The bits of a file.
std::string contents_of(const Path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A sample has one of the passes of each case, the other for the next.
TEST(Streaming, EveryActivationIsTheSameBitForBit) {
  std::size_t number = 0;
  for (const auto& [variant, precision] : streamed_configurations()) {
    ++number;
    for (const Case& c : streamed_cases()) {
      ++number;
      for (const char* passes : kPasses) {
        if (number++ % testing::sampled(2U, 1U) != 0) continue;
        const Plan plan = make_plan(c.network, parse_passes(passes));
        for (const Index at_once : testing::sampled({5U}, {2U, 5U})) {
          SCOPED_TRACE(std::string(variant->name) + " " + c.name + " " + passes);
          const Plan streamed = testing::streamed_plan(testing::stream_of(c.network), parse_passes(passes), at_once);
          expect_same_certificates(streamed, plan);
          const EngineOptions options{.precision = precision, .threads = 2};
          const auto expected = testing::engine_for(*variant, plan, c.images, options);
          const auto found = testing::engine_for(*variant, streamed, c.images, options);
          testing::expect_same_bits(*found, *expected, c.images, plan.depth());
          EXPECT_EQ(testing::run_through(*found, plan.depth()).alive,
                    testing::run_through(*expected, plan.depth()).alive);
        }
      }
    }
  }
}

TEST(Streaming, NoMoreLayersAreInMemoryThanMayBe) {
  const Network network = testing::deep_network(40);
  testing::Rng rng(4);
  const ImageSet images = testing::bit_images(rng, 100, 64, 0.4);
  for (const auto& [variant, precision] : streamed_configurations()) {
    for (const Index at_once : {2U, 3U, 8U}) {
      const NetworkStream stream = testing::stream_of(network);
      RunOptions options;
      options.engine.precision = precision;
      options.trials = 3;
      options.batch = 40;
      run(*variant, testing::streamed_plan(stream, parse_passes("dead"), at_once), images, options);
      const auto& layers = dynamic_cast<const CopiedLayers&>(*stream.layers);
      EXPECT_LE(layers.most_at_once(), static_cast<int>(at_once)) << variant->name;
      EXPECT_GE(layers.bytes_read(), 40U * 3 * 3);
    }
  }
}

TEST(Streaming, ALayerThatCannotBeReadEndsTheRun) {
  for (const auto& [variant, precision] : streamed_configurations()) {
    for (const Index broken : {0U, 3U}) {
      const Case& c = streamed_cases().front();
      RunOptions options;
      options.engine.precision = precision;
      const Plan plan = testing::streamed_plan(testing::stream_of(testing::deep_network(4)), {}, 3);
      StreamedLayers streamed = *plan.streamed;
      streamed.stream = testing::stream_of(testing::deep_network(4), broken).layers;
      Plan spoiled = plan;
      spoiled.streamed = std::make_shared<const StreamedLayers>(streamed);
      testing::Rng rng(1);
      EXPECT_THROW(run(*variant, spoiled, testing::bit_images(rng, 10, 64, 0.5), options), DataError) << c.name;
    }
  }
}

TEST(Streaming, BoundsAreThoseOfThePlanInMemory) {
  for (const Case& c : streamed_cases()) {
    const Plan plan = make_plan(c.network, {});
    const Plan streamed = testing::streamed_plan(testing::stream_of(c.network), {}, 2);
    for (const Precision precision : {Precision::fp32, Precision::fp64})
      EXPECT_EQ(may_overflow(streamed, facts_of(c.images), precision),
                may_overflow(plan, facts_of(c.images), precision))
          << c.name;
  }
}

TEST(ReadAhead, GivesTheLayersInAnyOrder) {
  const Network network = testing::deep_network(9);
  for (const Index at_once : {2U, 4U, 20U}) {
    const Plan plan = testing::streamed_plan(testing::stream_of(network), {}, at_once);
    ReadAhead layers(plan);
    for (const Index k : {0U, 1U, 2U, 0U, 0U, 8U, 0U, 5U, 6U, 5U, 7U, 8U, 0U, 1U})
      expect_same_layer(layers.layer(k), network.layers[k]);
  }
}

TEST(ReadAhead, ReadsOnUntilAsManyLayersAreThereAsMayBe) {
  for (const Index at_once : {2U, 4U, 8U}) {
    const NetworkStream stream = testing::stream_of(testing::deep_network(9));
    const auto& source = dynamic_cast<const CopiedLayers&>(*stream.layers);
    const Plan plan = testing::streamed_plan(stream, {}, at_once);
    ReadAhead layers(plan);
    const Layer held = layers.layer(0);
    for (int i = 0; i < 10000 && source.bytes_read() < at_once; ++i)  // another thread reads
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    EXPECT_EQ(source.bytes_read(), at_once);
    EXPECT_EQ(source.most_at_once(), static_cast<int>(at_once));
  }
}

TEST(ReadAhead, ReadsEachLayerOnceAPass) {
  const Network network = testing::deep_network(9);
  for (const Index at_once : {2U, 4U, 20U}) {
    const NetworkStream stream = testing::stream_of(network);
    const Plan plan = testing::streamed_plan(stream, {}, at_once);
    const std::uint64_t before = stream.layers->bytes_read();
    {
      ReadAhead layers(plan);
      for (int pass = 0; pass < 3; ++pass)
        for (Index k = 0; k < 9; ++k) layers.layer(k);
    }
    EXPECT_EQ(stream.layers->bytes_read() - before, 27U);
  }
}

TEST(StreamedPlans, AreReducedAsThoseInMemory) {
  std::size_t number = 0;
  for (const Case& c : streamed_cases()) {
    for (const char* passes : {"all", "twins", "unused", "twins,dead", "twins,unused,saturated"}) {
      SCOPED_TRACE(c.name + " " + passes);
      const Plan expected = make_plan(c.network, parse_passes(passes));
      for (const Index at_once : {2U, 7U, 100U}) {
        if (number++ % testing::sampled(4U, 1U) != 0) continue;
        const Plan found = make_plan(testing::stream_of(c.network), parse_passes(passes),
                                     {.at_once = at_once, .plan_bytes = 1U << 30U});
        ASSERT_FALSE(found.streamed);
        expect_same_certificates(found, expected);
        ASSERT_EQ(found.layers.size(), expected.layers.size());
        for (std::size_t k = 0; k < found.layers.size(); ++k) {
          expect_same_layer(found.layers[k], expected.layers[k]);
          EXPECT_TRUE(same_plans(found.expansion[k], expected.expansion[k]));
        }
      }
    }
  }
}

TEST(StreamedPlans, AreMadeWithFewLayersInMemoryEachReadOnce) {
  const Network network = generate_official_network(1024, 40);  // no layer stays as it is
  for (const Index at_once : {2U, 9U}) {
    const NetworkStream stream = testing::stream_of(network);
    make_plan(stream, parse_passes("all"), {.at_once = at_once, .plan_bytes = 1U << 30U});
    const auto& layers = dynamic_cast<const CopiedLayers&>(*stream.layers);
    EXPECT_LE(layers.most_at_once(), static_cast<int>(at_once));
    EXPECT_EQ(layers.bytes_read(), 40U);
  }
}

TEST(StreamedPlans, ALayerThatCannotBeReadIsAnError) {
  for (const Index broken : {0U, 3U, 9U})
    EXPECT_THROW(make_plan(testing::stream_of(testing::deep_network(10), broken), parse_passes("all"),
                           {.at_once = 4, .plan_bytes = 1U << 30U}),
                 DataError);
}

NetworkSpec network_at(const Path& path, std::optional<Index> layers = {}) {
  NetworkSpec spec;
  spec.path = path.string();
  spec.layers = layers;
  return spec;
}

TEST(StreamsToSaveMemory, KnowOfficialNetworksInAnyForm) {
  const TemporaryDirectory directory;
  const Network network = generate_official_network(1024, 121);
  write_network(directory / "n.spdnn", Form::packed, network);
  write_network(directory / "text", Form::tsv, network);
  write_network(directory / "gz", Form::tsv_gz, testing::in_full() ? network : generate_official_network(1024, 8));
  const auto official = [](const NetworkSpec& spec) {
    const auto given = stream_to_save_memory(spec, true, 1000);
    EXPECT_EQ(plan_stream(*given, parse_passes("all"), 1U << 30U, 1, {}).expansion.back().size(), 1024U);
    return given->is_official();
  };
  const ThreadLimit limit(2);
  EXPECT_EQ(stream_to_save_memory(network_at(directory / "gz"), true, 1000)->at_once, 2 * host_threads());
  for (const char* name : testing::sampled({"n.spdnn", "text"}, {"n.spdnn", "text", "gz"})) {
    EXPECT_TRUE(official(network_at(directory / name, 120))) << name;
    if (std::string_view(name) == "text" && !testing::in_full()) continue;
    EXPECT_FALSE(official(network_at(directory / name))) << name << ", 121 layers";
  }
  NetworkSpec spec = network_at(directory / "text", 120);
  spec.bias = -0.25;
  EXPECT_FALSE(official(spec)) << "another bias";
  for (const Index layers : {119U, 120U}) {
    NetworkSpec made;
    made.neurons = {1024};
    made.layers = layers;
    EXPECT_EQ(official(made), layers == 120);
  }
}

TEST(StreamsToSaveMemory, AreNotOpenedWhereReadingAtOnceIsBetter) {
  const TemporaryDirectory directory;
  const Network network = generate_official_network(1024, 8);
  write_network(directory / "n.spdnn", Form::packed, network);
  write_network(directory / "text", Form::tsv, network);
  write_network(directory / "gz", Form::tsv_gz, network);
  write_network(directory / "few", Form::tsv_gz, generate_official_network(1024, 2));
  write_network(directory / "mtx", Form::matrix_market, network);
  const auto opened = [&](const char* name, bool once, std::size_t most, bool cut = false) {
    NetworkSpec spec = network_at(directory / name);
    spec.allow_missing_newline = cut;
    return stream_to_save_memory(spec, once, most).has_value();
  };
  EXPECT_TRUE(opened("n.spdnn", false, 1000));
  EXPECT_FALSE(opened("n.spdnn", false, 10000000));
  EXPECT_TRUE(opened("text", true, 1000));
  EXPECT_FALSE(opened("text", true, 10000000));
  EXPECT_FALSE(opened("text", false, 1000)) << "parsed twice";
  EXPECT_FALSE(opened("text", true, 1000, true)) << "missing newlines would not be noted";
  const ThreadLimit limit(1);
  EXPECT_TRUE(opened("gz", true, 1000));
  EXPECT_FALSE(opened("gz", false, 1000)) << "decompressed twice";
  EXPECT_FALSE(opened("few", true, 1000)) << "all of its layers would be in memory";
  EXPECT_FALSE(opened("mtx", true, 1000));
}

TEST(StreamedPlans, PassesStandAsideWhereTheirLayersDoNotFit) {
  const Network network = testing::deep_network(6);
  const Plan plan = testing::streamed_plan(testing::stream_of(network), parse_passes("all"), 2);
  EXPECT_TRUE(plan.streamed);
  EXPECT_EQ(to_string(plan.passes), "saturated,dead,identical");
  EXPECT_EQ(to_string(plan.provenance.requested), "twins,unused,saturated,dead,identical");
  EXPECT_GE(plan.provenance.notes.size(), 2U);
  const Plan merged = testing::streamed_plan(testing::stream_of(network), parse_passes("merge"), 2);
  EXPECT_FALSE(merged.passes.merge);
  EXPECT_FALSE(merged.fallback);
}

TEST(StreamedPlans, OfLayersAsOneAreMadeWithoutReadingThem) {
  const NetworkStream stream = stream_official_network(1024, 12);
  const Plan expected = make_plan(generate_official_network(1024, 12), parse_passes("dead,saturated"));
  std::vector<LayerShape> shapes = stream.layers->shapes();
  const auto unreadable = std::make_shared<const CopiedLayers>(generate_official_network(1024, 12).layers, 0);
  NetworkStream other = stream;
  other.layers = unreadable;
  expect_same_certificates(testing::streamed_plan(other, parse_passes("dead,saturated"), 2), expected);
}

TEST(StreamedPlans, SeveralProcessesHaveTogetherWhatOneMayHave) {
  const Network network = testing::deep_network(400);
  const NetworkStream stream = testing::stream_of(network);
  const std::size_t layer = stream.layers->largest_layer_bytes();
  const auto at_once = [&](int sharers) {
    return plan_stream({stream}, {}, 240 * layer, sharers, {}).streamed->at_once;
  };
  EXPECT_EQ(at_once(1), 60U);  // a quarter of the budget
  EXPECT_EQ(at_once(3), 20U);
  EXPECT_EQ(at_once(10), 6U);
  EXPECT_EQ(at_once(120), 2U);  // the fewest that there can be
  EXPECT_EQ(testing::message_of<DeviceError>([&] { at_once(121); }),
            fmt::format("host_memory: two layers, the minimum in memory at a time, take {}, but only {} are left "
                        "beside the images",
                        bytes_text(2 * layer), bytes_text(240 * layer / 121)));
}

TEST(MemoryEstimates, CountWhatPlanningTakes) {
  const Network network = testing::deep_network(4);
  EXPECT_EQ(planning_bytes({}), 0U);
  EXPECT_GT(planning_bytes(network), 0U);
  const MemoryEstimate estimate =
      estimate_memory("", network, make_plan(network, {}), find_variant("cpu_openmp"), {}, 8);
  EXPECT_EQ(estimate.planning, planning_bytes(network));
}

TEST(StreamedPlans, LimitOfHostMemoryCoversPlanAndImages) {
  const Network network = testing::deep_network(40);
  const Plan plan = make_plan(network, {});
  testing::Rng rng(2);
  const ImageSet images = testing::bit_images(rng, 1000, 64, 0.4);
  const std::size_t held = plan.bytes() + images.bytes();
  EXPECT_EQ(host_memory_for_engine(0, plan, images.bytes()), 0U);
  EXPECT_EQ(host_memory_for_engine(held + 5000, plan, images.bytes()), 5000U);
  EXPECT_EQ(host_memory_for_engine(held + 5000, plan, images.bytes(), 4), 5000U);  // what each process may take
  EXPECT_EQ(host_memory_for_engine(held, plan, images.bytes()), 1U);               // 0 would be no limit
  EXPECT_EQ(host_memory_for_engine(1, plan, images.bytes()), 1U);
  const Plan streamed = testing::streamed_plan(testing::stream_of(network), {}, 4);
  ASSERT_LT(streamed.bytes(), plan.bytes());
  EXPECT_EQ(host_memory_for_engine(held, streamed, images.bytes()), held - streamed.bytes() - images.bytes());
  EXPECT_GT(host_memory_for_engine(0, streamed, images.bytes(), 1),
            host_memory_for_engine(0, streamed, images.bytes(), 4));
}

class StreamedFile : public ::testing::Test {
 protected:
  Path write(const Network& network) const {
    write_network(path_, Form::packed, network);
    return path_;
  }
  /// Overwrites a byte in the middle of the file.
  void spoil() const {
    std::fstream file(path_, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(static_cast<std::streamoff>(std::filesystem::file_size(path_) / 2));
    file.put('\x5a').put('\xa5');
  }

  TemporaryDirectory directory_;
  Path path_ = directory_ / "n.spdnn";
};

TEST_F(StreamedFile, HoldsTheLayersThatWereWritten) {
  for (const Case& c : streamed_cases()) {
    if (c.name == "repeated_terms" || c.name == "no_outputs") continue;  // no network of files
    SCOPED_TRACE(c.name);
    const NetworkStream stream = open_packed_network(write(c.network), {});
    const Network network = read_network(path_, {}).network;
    ASSERT_EQ(stream.depth(), network.layers.size());
    EXPECT_EQ(stream.digest, network_digest(network));
    EXPECT_EQ(stream.edges(), network.edges());
    for (int pass = 0; pass < 2; ++pass)
      for (Index k = stream.depth(); k-- > 0;) expect_same_layer(stream.layers->read(k), network.layers[k]);
    EXPECT_LE(stream.bytes(), network.bytes());  // which counts offsets that layers share once per layer
    EXPECT_GE(stream.bytes(), network.edges() * sizeof(Index));
    EXPECT_GT(stream.layers->bytes_read(), 0U);
    EXPECT_LT(stream.layers->bytes_read(), 2 * std::filesystem::file_size(path_));
  }
}

TEST_F(StreamedFile, WrittenLayerByLayerIsThatOfTheWholeNetwork) {
  Network network = testing::deep_network(3);
  for (const BiasRule rule : {BiasRule::non_zeros, BiasRule::everywhere})
    for (const std::optional<double> cap : {std::optional<double>(), std::optional<double>(8)}) {
      network.bias_rule = rule;
      network.cap = cap;
      const NetworkStream stream = testing::stream_of(network);
      write_packed(path_, {.stream = &stream});
      const Network found = read_network(path_, {}).network;
      EXPECT_EQ(found.bias_rule, rule);
      EXPECT_EQ(found.cap, cap);
      EXPECT_EQ(network_digest(found), network_digest(network));
    }
}

TEST_F(StreamedFile, MayBeReadInPart) {
  const Network network = testing::deep_network(5);
  const NetworkStream stream = open_packed_network(write(network), {.layers = 3});
  EXPECT_EQ(stream.depth(), 3U);
  EXPECT_EQ(stream.digest, 0U);
  EXPECT_THROW(open_packed_network(path_, {.layers = 6}), DataError);
  EXPECT_THROW(open_packed_network(path_, {.neurons = {65}}), DataError);
}

/// The message with which a layer is refused.
std::string reading_error(const LayerStream& layers) {
  for (Index k = 0; k < layers.shapes().size(); ++k) {
    try {
      layers.read(k);
    } catch (const DataError& error) {
      return error.what();
    }
  }
  return "taken";
}

TEST_F(StreamedFile, IsRefusedWhereItIsCorrupted) {
  write(testing::deep_network(40));
  spoil();
  EXPECT_NE(reading_error(*open_packed_network(path_, {}).layers).find("is corrupted"), std::string::npos);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 1);
  EXPECT_THROW(open_packed_network(path_, {}), DataError);
}

TEST_F(StreamedFile, IsRefusedWhereItChangesMeanwhile) {
  const NetworkStream stream = open_packed_network(write(testing::deep_network(40)), {});
  EXPECT_EQ(reading_error(*stream.layers), "taken");
  spoil();
  EXPECT_EQ(reading_error(*stream.layers), path_.string() + ": changed while it was being read: it was written to");
  std::filesystem::resize_file(path_, 200);
  EXPECT_NE(reading_error(*stream.layers).find("changed while it was being read"), std::string::npos);
}

TEST_F(StreamedFile, IsWrittenAsFromMemory) {
  for (const Case& c : streamed_cases()) {
    SCOPED_TRACE(c.name);
    const std::string expected = contents_of(write(c.network));
    const NetworkStream stream = testing::stream_of(c.network);
    write_packed(directory_ / "streamed.spdnn", {.stream = &stream});
    EXPECT_EQ(contents_of(directory_ / "streamed.spdnn"), expected);
    if (c.name == "no_outputs") continue;  // of which no file holds a plan
    const Plan plan = make_plan(stream, parse_passes("all"), {.at_once = 2, .plan_bytes = 1U << 30U});
    write_packed(directory_ / "planned.spdnn", {.stream = &stream, .plan = &plan});
    EXPECT_EQ(read_plan(directory_ / "planned.spdnn").provenance.network_digest, network_digest(c.network));
  }
}

TEST_F(StreamedFile, OfAnOfficialNetworkIsTheOneFromMemory) {
  const NetworkStream stream = stream_official_network(1024, 20);
  write_packed(directory_ / "streamed.spdnn", {.stream = &stream});
  EXPECT_EQ(contents_of(directory_ / "streamed.spdnn"), contents_of(write(generate_official_network(1024, 20))));
  EXPECT_EQ(stream_official_network(1024, 120).digest, network_digest(generate_official_network(1024, 120)));
}

}  // namespace
}  // namespace spdnn
