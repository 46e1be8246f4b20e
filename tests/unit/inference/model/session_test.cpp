#include "spdnn/session.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/reports.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

/// The engine that adds in the same order whatever the batch.
constexpr const char* kReference = "conv_reference";

EngineSettings settings_of(const char* variant, Index batch) {
  EngineSettings settings;
  settings.variant = variant;
  settings.batch = batch;
  settings.threads = 1;
  return settings;
}

Tensor some_of(const Tensor& images, std::size_t first, std::size_t count) {
  const std::size_t each = images.values.size() / static_cast<std::size_t>(images.shape[0]);
  Shape shape = images.shape;
  shape[0] = static_cast<Extent>(count);
  const float* const begin = images.values.data() + first * each;
  return make_tensor(shape, {begin, begin + count * each});
}

/// The logits of a whole inference.
Tensor inferred_logits(const Model& model, const Tensor& images, const EngineSettings& settings) {
  ModelSpec spec;
  static_cast<EngineSettings&>(spec) = settings;
  return testing::report_of(spec, model, images).logits();
}

void expect_same_bits(const Tensor& one, const Tensor& other) {
  ASSERT_EQ(one.shape, other.shape);
  EXPECT_EQ(std::memcmp(one.values.data(), other.values.data(), one.values.bytes()), 0);
}

TEST(ModelSession, RefusesAModelWithoutAnAxisOfImages) {
  ModelBuilder builder;
  const ValueId number = builder.input({});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {number})});
  EXPECT_THROW(
      try { ModelSession(model, settings_of(kReference, 1)); } catch (const DataError& error) {
        EXPECT_STREQ(error.what(), "model: \"input0\" has no axes, expected images on axis 0");
        throw;
      },
      DataError);
}

TEST(ModelSession, AnswersWithTheBitsOfAnInferenceWhateverTheBatch) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 7);
  const Tensor& images = network.inputs[0];
  const Tensor expected = inferred_logits(network.model, images, settings_of(kReference, 0));
  for (const Index batch : {0U, 1U, 3U, 7U, 64U}) {
    const ModelSession session(network.model, settings_of(kReference, batch));
    EXPECT_EQ(session.batch(), batch == 0 ? 728U : batch) << "a megabyte of images of 1440 bytes";
    const ModelSession::Answer answer = session.run(images);
    ASSERT_EQ(answer.outputs.size(), 2U);
    expect_same_bits(answer.outputs[0], expected);
    EXPECT_EQ(answer.outputs[1].shape[0], 7);
    EXPECT_EQ(answer.overflow, "");
    expect_same_bits(session.run(some_of(images, 2, 4)).outputs[0], some_of(expected, 2, 4));
  }
}

TEST(ModelSession, OfAFastEngineAnswersWithTheBitsOfAnInferenceAgainAndAgain) {
  const testing::ModelCase network = testing::small_network(4, 0.3, 6);
  const EngineSettings settings = settings_of("conv_dense", 4);
  const ModelSession session(network.model, settings);
  const Tensor expected = inferred_logits(network.model, network.inputs[0], settings);
  const ModelSession one(network.model, settings_of("conv_dense", 1));
  const Tensor single = one.run(some_of(network.inputs[0], 5, 1)).outputs[0];
  for (int time = 0; time < 3; ++time) {
    expect_same_bits(session.run(network.inputs[0]).outputs[0], expected);
    expect_same_bits(one.run(some_of(network.inputs[0], 5, 1)).outputs[0], single);
  }
  expect_same_bits(single,
                   inferred_logits(network.model, some_of(network.inputs[0], 5, 1), settings_of("conv_dense", 1)));
  EXPECT_EQ(session.threads(), 1);
  EXPECT_EQ(session.computing_threads(), 1);
  EXPECT_EQ(session.variant(), "conv_dense");
  EXPECT_EQ(session.precision(), Precision::fp32);
}

TEST(ModelSession, KeepsTheAnswersOfEarlierRuns) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 2);
  const ModelSession session(network.model, settings_of(kReference, 2));
  const Tensor first = session.run(network.inputs[0]).outputs[0];
  const std::vector<float> before(first.values.begin(), first.values.end());
  Tensor zeros = make_tensor(network.inputs[0].shape, std::vector<float>(network.inputs[0].values.size()));
  session.run(zeros);
  EXPECT_TRUE(std::equal(before.begin(), before.end(), first.values.begin()));
}

TEST(ModelSession, OfAModelOfAFixedBatchTakesMultiplesOfIt) {
  ModelBuilder builder;
  const ValueId x = builder.input({2, 3});
  const ModelSession session(builder.finish({builder.add(Activation{}, {x})}), settings_of(kReference, 0));
  EXPECT_EQ(session.batch(), 2U);
  const Tensor out = session.run(make_tensor({4, 3}, {-1, 1, 2, 3, -4, 5, 6, 7, -8, 9, 10, 11})).outputs[0];
  EXPECT_EQ(out.shape, (Shape{4, 3}));
  EXPECT_EQ(out.values[0], 0.F);
  EXPECT_EQ(out.values[11], 11.F);
  EXPECT_THROW(session.run(make_tensor({3, 3}, std::vector<float>(9))), DataError);
}

/// One output has four images on axis 0, the other three rows of all of them.
TEST(ModelSession, DoesNotJoinAnOutputThatIsNoneOfTheImagesFromBatches) {
  ModelBuilder builder;
  const ValueId x = builder.input({4, 3});
  const ValueId y = builder.add(Activation{}, {x});
  const ModelSession session(builder.finish({y, builder.add(Transpose{{1, 0}}, {y})}), settings_of(kReference, 0));
  const std::vector<float> numbers(24, 1);
  EXPECT_EQ(session.run(make_tensor({4, 3}, {numbers.begin(), numbers.begin() + 12})).outputs[1].shape, (Shape{3, 4}));
  EXPECT_EQ(testing::message_of<DataError>([&] {
              session.run(make_tensor({8, 3}, numbers));
            }),
            "images: 8, expected at most 4, as the output \"value2\" is 3 x 4 for all of them");
}

TEST(ModelSession, RefusesImagesThatDoNotFitAndGoesOn) {
  ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 3});
  const ModelSession session(builder.finish({builder.add(Activation{}, {x})}), settings_of(kReference, 2));
  EXPECT_THROW(session.run(make_tensor({1, 4}, std::vector<float>(4))), DataError);
  EXPECT_THROW(session.run(make_tensor({0, 3}, {})), DataError);
  EXPECT_THROW(session.run(make_tensor({1, 3}, {1, NAN, 1})), DataError);
  EXPECT_THROW(session.run(make_tensor({1, 3}, {1, INFINITY, 1})), DataError);
  EXPECT_THROW(session.run(make_tensor({1, 3}, {1, 2})), DataError);
  EXPECT_EQ(session.run(make_tensor({1, 3}, {1, -2, 3})).outputs[0].values[2], 3.F);
}

TEST(ModelSession, RefusesSettingsAndModelsThatCannotRun) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 1);
  EXPECT_THROW(ModelSession(network.model, settings_of("none", 0)), UsageError);
  EngineSettings half = settings_of(kReference, 0);
  half.precision = Precision::fp16;
  EXPECT_THROW(ModelSession(network.model, half), UsageError);
  Model none = network.model;
  none.nodes[0].inputs = {none.nodes[0].output};
  EXPECT_THROW(ModelSession(none, settings_of(kReference, 1)), std::invalid_argument);
  EngineSettings little = settings_of(kReference, 1);
  little.host_memory = 16;
  EXPECT_THROW(ModelSession(network.model, little), DeviceError);
  ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 3});
  builder.input({testing::kN, 3});
  EXPECT_THROW(ModelSession(builder.finish({builder.add(Activation{}, {x})})), DataError);
}

TEST(ModelSession, NamesTheNodeWhoseNumbersExceedThePrecisionInAnyBatch) {
  ModelBuilder builder;
  const ValueId x = builder.input({testing::kN, 2});
  const Linear linear{testing::make_matrix(2, {{{0, 2.F}, {1, 2.F}}, {{0, -1.F}, {1, -1.F}}}), {}};
  const Model model = builder.finish({builder.add(testing::make_clip(0, 1), {builder.add(linear, {x})})});
  for (const Index batch : {1U, 4U}) {
    const ModelSession session(model, settings_of("conv_dense", batch));
    EXPECT_EQ(session.run(make_tensor({2, 2}, {1, 1, 2, 2})).overflow, "");
    for (const std::vector<float>& images : {std::vector<float>{3e38F, 3e38F, 1, 1}, {1, 1, 3e38F, 3e38F}})
      EXPECT_EQ(session.run(make_tensor({2, 2}, images)).overflow, "node 1 \"node0\" (linear)");
    EXPECT_EQ(session.run(make_tensor({2, 2}, {1, 1, 2, 2})).overflow, "");
  }
}

TEST(ModelSession, OfARunUnderWayRefusesAnotherThread) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 2);
  const ModelSession session(network.model, settings_of(kReference, 1));
  bool refused = false;
  session.run(network.inputs[0], [&] {
    if (!refused)
      std::thread([&] {
        try {
          session.run(network.inputs[0]);
        } catch (const UsageError& error) {
          refused = std::string(error.what()).find("session of its own") != std::string::npos;
        }
      }).join();
    return false;
  });
  EXPECT_TRUE(refused);
}

TEST(ModelSession, IsCancelledAndGoesOnWithTheNextRun) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 2);
  const ModelSession session(network.model, settings_of(kReference, 2));
  const Tensor expected = session.run(network.inputs[0]).outputs[0];
  int asked = 0;
  EXPECT_THROW(session.run(network.inputs[0], [&] { return ++asked == 3; }), Cancelled);
  expect_same_bits(session.run(network.inputs[0]).outputs[0], expected);
}

TEST(ModelSession, RunsOnAnotherThreadThanTheOneThatMadeItAndCanBeMoved) {
  const testing::ModelCase network = testing::small_network(1, 0.3, 2);
  ModelSession made(network.model, settings_of(kReference, 2));
  const Tensor expected = made.run(network.inputs[0]).outputs[0];
  const ModelSession session = std::move(made);
  Tensor found;
  int asked = 0;
  std::thread([&] {
    found = session
                .run(network.inputs[0],
                     [&] {
                       ++asked;
                       return false;
                     })
                .outputs[0];
  }).join();
  expect_same_bits(found, expected);
  EXPECT_GT(asked, 0);
}

}  // namespace
}  // namespace spdnn
