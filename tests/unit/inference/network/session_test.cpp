#include "spdnn/session.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "inference/run/run.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"
#include "support/overflowing.hpp"
#include "support/recording_engine.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using testing::RecordingEngine;
using testing::Rng;

/// Eight layers of 48 neurons, from which some images come out.
Network random_network() {
  Rng rng{11};
  return testing::random_network(rng, 48, 8, 6, -0.3);
}

ImageSet random_bits(Index images, std::uint32_t seed) {
  Rng rng{seed};
  return testing::bit_images(rng, images, 48, 0.3);
}

/// The same images with other values than zeros and ones.
ImageSet with_value(const ImageSet& images, float value) {
  CsrMatrix rows = images.to_csr();
  rows.values = std::vector<float>(rows.indices.size(), value);
  return {rows};
}

Outcome outcome_of(const Network& network, const ImageSet& images, const NetworkSessionSettings& settings,
                   const Passes& passes) {
  InferenceSpec spec;
  static_cast<EngineSettings&>(spec) = settings;
  spec.activations = settings.activations;
  spec.passes = passes;
  Inference inference(spec);
  inference.load(network, images);
  inference.plan();
  inference.run();
  return inference.report().outcome;
}

void expect_same_outcome(const Outcome& one, const Outcome& other) {
  EXPECT_EQ(one.categories, other.categories);
  EXPECT_EQ(one.alive, other.alive);
  EXPECT_EQ(one.overflow, other.overflow);
  ASSERT_EQ(one.activations.has_value(), other.activations.has_value());
  if (!one.activations) return;
  const CsrMatrix& a = *one.activations;
  const CsrMatrix& b = *other.activations;
  EXPECT_EQ(a.offsets.span().size(), b.offsets.span().size());
  EXPECT_TRUE(std::equal(a.offsets.begin(), a.offsets.end(), b.offsets.begin(), b.offsets.end()));
  EXPECT_TRUE(std::equal(a.indices.begin(), a.indices.end(), b.indices.begin(), b.indices.end()));
  EXPECT_TRUE(std::equal(a.values.begin(), a.values.end(), b.values.begin(), b.values.end()));
}

TEST(NetworkSession, AnswersAsAnInferenceWhateverNumberAndKindOfImages) {
  const Network network = random_network();
  for (const Index batch : testing::sampled({0U, 7U}, {0U, 1U, 7U, 64U}))
    for (const char* const variant : {"cpu_openmp", "cpu_reference"}) {
      NetworkSessionSettings settings;
      settings.variant = variant;
      settings.batch = batch;
      settings.threads = 2;
      settings.activations = true;
      const NetworkSession session(PlannedNetwork(network, kExactPasses), settings);
      std::uint32_t seed = 0;
      for (const Index images : {20U, 1U, 100U, 33U, 20U}) {
        const ImageSet bits = random_bits(images, ++seed);
        for (const ImageSet& given : {bits, with_value(bits, 0.5F), with_value(bits, 3e38F), bits})
          expect_same_outcome(session.run(given), outcome_of(network, given, settings, kExactPasses));
      }
    }
}

TEST(NetworkSession, OfAMergedPlanRunsBorderlineImagesAgain) {
  const Passes passes = parse_passes("twins,unused,merge,saturated,dead,identical");
  NetworkSessionSettings settings;
  settings.variant = "cpu_openmp";
  settings.threads = 1;
  std::size_t borderline = 0;
  for (const auto& [network, images] : testing::networks_to_merge()) {
    const PlannedNetwork planned(network, passes);
    const NetworkSession session(planned, settings);
    for (const ImageSet& given : {images, images.slice(0, 50), with_value(images, 2.F), images}) {
      const Outcome outcome = session.run(given);
      expect_same_outcome(outcome, outcome_of(network, given, settings, passes));
      borderline += outcome.borderline.size();
    }
    NetworkSessionSettings with_activations = settings;
    with_activations.activations = true;
    EXPECT_THROW(NetworkSession(planned, with_activations), UsageError);
  }
  EXPECT_GT(borderline, 0U);
}

/// Of the last layer two neurons are twins, and one is always zero: the plan computes one of the four.
TEST(NetworkSession, HasTheActivationsOfAllNeuronsGiven) {
  Network network;
  network.layers = {testing::make_layer(3, {{{0, 1.F}}, {{1, 1.F}}}, 0),
                    testing::make_layer(2, {{{0, 1.F}}, {}, {{0, 1.F}}, {{1, 2.F}}}, -0.5)};
  NetworkSessionSettings settings;
  settings.variant = "cpu_openmp";
  settings.activations = true;
  const NetworkSession session(PlannedNetwork(network, kExactPasses), settings);
  const ImageSet images{testing::make_matrix(3, {{{0, 2.F}}, {{1, 1.F}}, {{2, 1.F}}})};
  const Outcome found = session.run(images);
  EXPECT_EQ(found.activations->cols, 4U);
  EXPECT_EQ(std::vector<Index>(found.activations->indices.begin(), found.activations->indices.end()),
            (std::vector<Index>{0, 2, 3}));
  EXPECT_EQ(std::vector<float>(found.activations->values.begin(), found.activations->values.end()),
            std::vector<float>(3, 1.5F));
}

/// The calls to the engine of a session with this variant and batch.
std::vector<std::string> makes_of(Index batch, const std::vector<ImageSet>& runs, std::size_t most_bytes = 0) {
  const Network network = random_network();
  const Plan plan = testing::unreduced_plan(network);
  Variant variant = RecordingEngine::variant();
  variant.support = [](const Plan&, const BatchInfo& info, const EngineOptions&) {
    return Support{.working_bytes = info.images};
  };
  KeptEngines kept;
  RunOptions options;
  options.batch = batch;
  options.engine.host_memory = most_bytes;
  options.kept = &kept;
  RecordingEngine::calls.clear();
  for (const ImageSet& images : runs) run(variant, plan, images, options);
  std::vector<std::string> makes = RecordingEngine::calls;
  std::erase_if(makes, [](const std::string& call) { return !call.starts_with("make"); });
  return makes;
}

TEST(KeptEngines, AreMadeAgainOnlyForImagesOfAnotherKindOrForMoreOfThem) {
  using Makes = std::vector<std::string>;
  const ImageSet few = random_bits(10, 1);
  const ImageSet many = random_bits(30, 2);
  EXPECT_EQ(makes_of(0, {few, few, random_bits(3, 3), few}), Makes{"make for 10, binary"});
  EXPECT_EQ(makes_of(0, {few, many, few, many}), (Makes{"make for 10, binary", "make for 30, binary"}));
  EXPECT_EQ(makes_of(16, {few, many, few}), Makes{"make for 16, binary"});
  EXPECT_EQ(makes_of(0, {many, many, random_bits(90, 4)}, 20), Makes{"make for 15, binary"}) << "no more fit";
  EXPECT_EQ(makes_of(0, {few, with_value(few, 0.5F), few}),
            (Makes{"make for 10, binary", "make for 10", "make for 10, binary"}));
}

TEST(NetworkSession, MakesItsEngineAtOnceForAGivenBatch) {
  const PlannedNetwork planned(random_network(), kExactPasses);
  NetworkSessionSettings settings;
  settings.variant = "cpu_openmp";
  settings.threads = 1;
  EXPECT_EQ(NetworkSession(planned, settings).batch(), 0U);
  settings.batch = 9;
  const NetworkSession session(planned, settings);
  EXPECT_EQ(session.batch(), 9U);
  EXPECT_EQ(session.variant(), "cpu_openmp");
  EXPECT_EQ(session.precision(), Precision::fp32);
  EXPECT_EQ(session.threads(), 1);
  EXPECT_EQ(session.network().network().layers.size(), 8U);
}

TEST(NetworkSession, RefusesWhatDoesNotFitAndGoesOn) {
  const Network network = random_network();
  const PlannedNetwork planned(network, kExactPasses);
  NetworkSessionSettings settings;
  settings.variant = "none";
  EXPECT_THROW(NetworkSession(planned, settings), UsageError);
  settings.variant = "cpu_openmp";
  settings.precision = Precision::fp16;
  EXPECT_THROW(NetworkSession(planned, settings), UsageError);
  settings.precision = std::nullopt;
  settings.host_memory = 1;
  EXPECT_THROW(NetworkSession(planned, settings).run(random_bits(5, 1)), DeviceError);
  settings.host_memory = 0;
  const NetworkSession session(planned, settings);
  const ImageSet images = random_bits(5, 1);
  const Outcome expected = session.run(images);
  Rng rng{1};
  EXPECT_THROW(session.run(testing::bit_images(rng, 5, 47, 0.3)), DataError);
  EXPECT_THROW(session.run({make_csr(1, 48, {0, 1}, {48})}), std::invalid_argument);
  expect_same_outcome(session.run(images), expected);
  EXPECT_EQ(session.run(random_bits(0, 1)).categories, Categories{});
}

TEST(NetworkSession, OfARunUnderWayRefusesAnotherThread) {
  NetworkSessionSettings settings;
  settings.variant = "cpu_reference";
  const NetworkSession session(PlannedNetwork(random_network(), kExactPasses), settings);
  bool refused = false;
  session.run(random_bits(5, 1), [&] {
    if (!refused)
      std::thread([&] {
        try {
          session.run(random_bits(5, 1));
        } catch (const UsageError& error) {
          refused = std::string(error.what()).find("session of its own") != std::string::npos;
        }
      }).join();
    return false;
  });
  EXPECT_TRUE(refused);
}

TEST(NetworkSession, IsCancelledOnAnyThreadAndGoesOnWithTheNextRun) {
  const ImageSet images = random_bits(40, 1);
  for (const char* const variant : {"cpu_openmp", "cpu_reference"}) {
    NetworkSessionSettings settings;
    settings.variant = variant;
    settings.threads = 1;
    NetworkSession made(PlannedNetwork(random_network(), kExactPasses), settings);
    const Outcome expected = made.run(images);
    const NetworkSession session = std::move(made);
    std::thread([&] {
      int asked = 0;
      EXPECT_THROW(session.run(images, [&] { return ++asked == 3; }), Cancelled);
      EXPECT_EQ(asked, 3) << "the engine asks within the run";
      expect_same_outcome(session.run(images), expected);
    }).join();
  }
}

}  // namespace
}  // namespace spdnn
