#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "engines/model_engine.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/run.hpp"
#include "inference/model/verify.hpp"
#include "model/graph/node_work.hpp"
#include "model/oracle/evaluate.hpp"
#include "model/rewrites/rewrite.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;
using testing::ModelCase;

ModelReport model_report(const ModelSpec& spec, const Model& model, const Tensor& images) {
  ModelInference inference(spec);
  inference.load(model, images);
  inference.plan();
  inference.run();
  inference.verify();
  return inference.report();
}

/// y = 1 x0 + 2 x1, and y = 1 x0 + (2 + 2^-20) x1.
Model two_sums() {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  Linear linear;
  linear.weights = testing::make_matrix(2, {{{0, 1.F}, {1, 2.F}}, {{0, 1.F}, {1, 2.F + 0x1p-20F}}});
  return builder.finish({builder.add(linear, {x})});
}

/// The outputs of a run with one output.
std::vector<ModelOutput> only_output(const Tensor& values) { return {{"y", values.shape, values}}; }

ModelSpec verified_by(const char* variant) {
  ModelSpec spec;
  spec.variant = variant;
  spec.truth.everything = true;
  return spec;
}

TEST(ModelInference, OfWhatIsInMemoryIsVerifiedLogitByLogitAndNodeByNode) {
  const ModelCase network = testing::small_network(1, 0.3, 5);
  for (const Rewrites& rewrites : {kAllRewrites, Rewrites{}}) {
    for (const Index batch : {0U, 2U}) {
      ModelSpec spec = verified_by("conv_dense");
      spec.rewrites = rewrites;
      spec.batch = batch;
      const ModelReport report = model_report(spec, network.model, network.inputs[0]);
      EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
      EXPECT_EQ(report.recomputed->images, 5U);
      EXPECT_LE(report.recomputed->worst().largest_ratio, 1.0);
      EXPECT_LE(report.nodes_checked->largest_ratio, 1.0) << report.nodes_checked->worst;
      EXPECT_EQ(report.nodes_checked->nodes, report.nodes_run);
      EXPECT_EQ(report.predictions.size(), 5U);
      EXPECT_EQ(report.outputs.size(), 2U);
      EXPECT_TRUE(report.profile.empty());
      for (const char* const part : {"time single nodes", "differ from the first trial's"})
        for (const std::string& note : report.notes) EXPECT_EQ(note.find(part), note.npos) << note;
    }
  }
}

TEST(ModelInference, NoNumberIsInfinitelyFarFromEveryNumber) {
  const auto largest = [](std::vector<float> a, std::vector<float> b) { return largest_difference(a, b); };
  EXPECT_EQ(largest({1.5F, 2, 1}, {-0.5F, 1, 1}), 2.0);
  EXPECT_EQ(largest({NAN, 1}, {1, 1}), HUGE_VAL);
  EXPECT_EQ(largest({1, 1}, {1, NAN}), HUGE_VAL);
}

TEST(ModelInference, SaysInWhichFormWeightsAreStored) {
  const auto notes = [](bool quantised) {
    TypedMatrix typed = typed_matrix(testing::make_matrix(2, {{{0, 1.F}, {1, 2.F}}}), Pattern::dense, DataType::i8);
    if (quantised) typed.values.scales = {0.1F};
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const ValueId y = builder.add(Activation{}, {builder.add(Linear{Weights(typed), {}}, {x})});
    ModelSpec spec;
    spec.variant = "conv_reference";
    return model_report(spec, builder.finish({y}), make_tensor({1, 2}, {1, 1})).notes;
  };
  const std::string begin = "weights of 1 node are stored as dense i8; engines compute with them as fp32, ";
  EXPECT_EQ(notes(false).at(0), begin + "exactly");
  EXPECT_EQ(notes(true).at(0), begin + "scaled by one rounding each");
}

/// Rounded, moved by a zero point or not, and kept within integers of 8 or 16 bits.
TEST(ModelInference, SaysThatValuesAreQuantised) {
  const auto notes = [](float low, float high, bool moved, Activation::Kind first) {
    ModelBuilder builder;
    ValueId y = builder.add(testing::make_activation(first), {builder.input({kBatchExtent, 2})});
    if (moved) y = builder.add(Elementwise{}, {y, builder.constant(make_tensor({}, {3}))});
    y = builder.add(testing::make_clip(low, high), {y});
    y = builder.add(testing::make_activation(Activation::Kind::relu), {y});
    ModelSpec spec;
    return model_report(spec, builder.finish({y}), make_tensor({1, 2}, {1, 1})).notes;
  };
  constexpr auto kRound = Activation::Kind::round;
  const auto says = [](const std::vector<std::string>& all) {
    return std::any_of(all.begin(), all.end(),
                       [](const auto& note) { return note.starts_with("1 value is quantised; "); });
  };
  for (const bool moved : {false, true}) {
    for (const auto& [low, high] : {std::pair{0.F, 255.F}, {-128.F, 127.F}, {0.F, 65535.F}, {-32768.F, 32767.F}})
      EXPECT_TRUE(says(notes(low, high, moved, kRound))) << low;
    EXPECT_FALSE(says(notes(0, 6, moved, kRound)));
    EXPECT_FALSE(says(notes(-1, 254, moved, kRound)));
    EXPECT_FALSE(says(notes(0, 255, moved, Activation::Kind::floor)));
  }
}

/// Nodes that only move numbers are looked through.
TEST(ModelInference, ScoresAreNamedAfterTheNodeThatMakesThem) {
  const Tensor images = make_tensor({1, 2}, {1, 2});
  const auto name = [&](const std::vector<Operation>& operations) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    ValueId y = x;
    for (const Operation& operation : operations)
      y = builder.add(operation, std::holds_alternative<Elementwise>(operation) ? std::vector{y, x} : std::vector{y});
    return model_report({}, builder.finish({y}), images).score;
  };
  const Linear linear{testing::make_matrix(2, {{{0, 1.F}}, {{1, 2.F}}}), {}};
  const Operation sigmoid = testing::make_activation(Activation::Kind::sigmoid);
  EXPECT_EQ(name({linear, Softmax{1}}), "probability");
  EXPECT_EQ(name({linear, sigmoid}), "sigmoid");
  EXPECT_EQ(name({sigmoid, linear}), "logit");
  EXPECT_EQ(name({sigmoid, BatchNorm{{1, 1}, {0, 0}, {0, 0}, {1, 1}, 0}}), "logit");
  testing::Rng rng(3);
  const Operation convolution = testing::random_convolution(rng, 2, 2, testing::same_window(1, 1), 1);
  EXPECT_EQ(name({sigmoid, Reshape{{kBatchExtent, 2, 1, 1}}, convolution, Transpose{{0, 2, 1, 3}},
                  testing::make_activation(Activation::Kind::identity)}),
            "logit");
  EXPECT_EQ(name({linear, Elementwise{}}), "logit");
  EXPECT_EQ(name({linear, Elementwise{Elementwise::Kind::multiply}}), "output");
  EXPECT_EQ(name({linear, Reshape{{kBatchExtent, 2, 1}}, Reshape{{kBatchExtent, 2}}}), "logit");
  EXPECT_EQ(name({linear, Activation{}}), "output");
}

TEST(ModelInference, IsUnverifiedUntilItIsAskedForAndTakesStepsInOrder) {
  const ModelCase network = testing::small_network(2, 0.3, 2);
  ModelInference inference(ModelSpec{});
  EXPECT_THROW(inference.plan(), std::logic_error);
  inference.load(network.model, network.inputs[0]);
  EXPECT_THROW(inference.load(network.model, network.inputs[0]), std::logic_error);
  EXPECT_THROW(inference.run(), std::logic_error);
  inference.plan();
  EXPECT_THROW(inference.verify(), std::logic_error);
  inference.run();
  EXPECT_EQ(inference.report().verdict.status, Verdict::Status::unverified);
  EXPECT_EQ(inference.report().verdict.against, "nothing: verification was not requested");
}

TEST(ModelInference, ASampleOfMoreImagesThanThereAreIsAllOfThem) {
  const auto against = [](Extent images) {
    ModelSpec spec;
    spec.variant = "conv_dense";
    spec.truth.sample = 10;
    testing::Rng rng(5);
    const ModelReport report = model_report(spec, two_sums(), testing::random_tensor(rng, {images, 2}));
    EXPECT_EQ(report.recomputed->images, images);
    EXPECT_EQ(report.nodes_checked->images, images);
    EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
    return report.recomputed->against;
  };
  EXPECT_EQ(against(1), "the reference in fp64 on 1 image");
  EXPECT_EQ(against(3), "the reference in fp64 on all 3 images");
}

/// A node may not read what is made after it.
TEST(ModelInference, RefusesAModelThatIsNone) {
  Model model = two_sums();
  model.nodes[0].inputs = {model.nodes[0].output};
  ModelInference inference(ModelSpec{});
  EXPECT_THROW(inference.load(model, make_tensor({1, 2}, {1, 1})), std::invalid_argument);
}

TEST(ModelInference, TheHostMemoryIsThatOfModelImagesAndEngine) {
  const ModelCase network = testing::small_network(3, 0.3, 4);
  ModelSpec spec;
  spec.variant = "conv_dense";
  spec.threads = 1;
  const auto runs = [&](std::size_t bytes) {
    spec.host_memory = bytes;
    ModelInference inference(spec);
    inference.load(network.model, network.inputs[0]);
    inference.plan();
    try {
      inference.run();
      return true;
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.field(), "host_memory");
      return false;
    }
  };
  Model run = network.model;
  rewrite(run, kAllRewrites);
  const std::size_t engine =
      support_of(find_model_variant("conv_dense"), run, {.batch = 1, .threads = 1}).working_bytes;
  const std::size_t data = bytes_of(network.model) + network.inputs[0].values.bytes();
  EXPECT_TRUE(runs(data + engine));
  EXPECT_FALSE(runs(data + engine - 1));
  EXPECT_FALSE(runs(data));
  EXPECT_FALSE(runs(1));
}

TEST(ModelInference, RunsAModelOfAFixedBatchThatManyImagesAtATime) {
  ModelBuilder builder;
  const ValueId x = builder.input({2, 3});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  testing::Rng rng(5);
  ModelSpec spec = verified_by("conv_reference");
  ModelInference inference(spec);
  // Images of a model of a fixed batch: any multiple of it.
  inference.load(model, testing::random_tensor(rng, {6, 3}));
  inference.plan();
  inference.run();
  inference.verify();
  EXPECT_EQ(inference.report().batch, 2U);
  EXPECT_EQ(inference.report().verdict.status, Verdict::Status::passed) << inference.report().verdict.against;
  ModelSpec sample = spec;
  sample.variant = "conv_dense";
  sample.truth.everything = false;
  for (const Index some : {3U, 4U}) {
    sample.truth.sample = some;
    const ModelReport of_some = model_report(sample, model, testing::random_tensor(rng, {6, 3}));
    EXPECT_EQ(of_some.recomputed->images, some);
    EXPECT_EQ(of_some.nodes_checked->images, 4U) << "whole batches";
    EXPECT_TRUE(of_some.nodes_checked->right());
  }
  ModelInference odd(spec);
  odd.load(model, testing::random_tensor(rng, {5, 3}));
  odd.plan();
  try {
    odd.run();
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(),
                 "shape: the model takes 2 images at a time, and 5 is not a multiple of that; N in place of 2 makes it "
                 "accept any number, if its nodes allow that");
  }
}

TEST(ModelInference, RefusesAnOutputThatDoesNotHaveTheImagesOnAxis0) {
  ModelBuilder builder;
  const ValueId x = builder.input({4, 3});
  const Model turned = builder.finish({builder.add(Transpose{{1, 0}}, {x})});
  testing::Rng rng(5);
  ModelInference inference(verified_by("conv_reference"));
  EXPECT_THROW(inference.load(turned, testing::random_tensor(rng, {4, 3})), DataError);
}

TEST(ModelInference, RefusesAModelOfNoImagesAtATime) {
  ModelBuilder builder;
  const ValueId x = builder.input({0, 3});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  testing::Rng rng(5);
  ModelInference inference(verified_by("conv_reference"));
  EXPECT_THROW(inference.load(model, testing::random_tensor(rng, {4, 3})), DataError);
}

TEST(ModelInference, RefusesAnOutputThatIsMadeOfConstantsAlone) {
  ModelBuilder builder;
  builder.input({1, 3});
  const ValueId constant = builder.constant(make_tensor({1, 2}, {-1, 2}));
  const Model model = builder.finish({builder.add(Activation{}, {constant})});
  testing::Rng rng(5);
  ModelInference inference(verified_by("conv_reference"));
  EXPECT_THROW(inference.load(model, testing::random_tensor(rng, {3, 3})), DataError);
}

TEST(ModelInference, ABatchThatMemoryDoesNotHoldIsHalvedForTheEngine) {
  static const ModelVariant& reference = find_model_variant("conv_reference");
  const ModelVariant narrow{
      .name = "narrow",
      .device = Device::cpu,
      .description = "takes two images",
      .precisions = reference.precisions,
      .support = reference.support,
      .make = [](std::shared_ptr<const Model> model, const ModelEngineOptions& options, const Support& support) {
        if (options.batch > 2) throw std::bad_alloc();
        return reference.make(std::move(model), options, support);
      }};
  const ModelCase network = testing::small_network(3, 0.3, 7);
  ModelRunOptions options;
  options.engine.precision = reference.precisions.front();
  options.engine.batch = 7;
  const auto model = std::make_shared<const Model>(network.model);
  const ModelRunResult found = run_model(narrow, model, network.inputs[0], options);
  EXPECT_EQ(found.batch, 2U);
  const ModelRunResult expected = run_model(reference, model, network.inputs[0], options);
  for (std::size_t i = 0; i < expected.outputs.size(); ++i)
    EXPECT_EQ(largest_difference(found.outputs[i].values, expected.outputs[i].values), 0);
}

TEST(ModelInference, TellsHowMuchIsDone) {
  const ModelCase network = testing::small_network(3, 0.3, 2);
  ModelSpec spec = verified_by("conv_dense");
  std::vector<std::string> works;
  std::map<std::string, std::uint64_t> left;
  spec.progress = [&](const ProgressUpdate& update) {
    works.emplace_back(update.work);
    left[works.back()] = update.total - update.done;
  };
  ModelInference inference(spec);
  inference.load(network.model, network.inputs[0]);
  inference.plan();
  inference.run();
  ASSERT_FALSE(works.empty());
  EXPECT_EQ(works.back(), "infer");
  works.clear();
  inference.verify();
  EXPECT_EQ(works.front(), "verify");
  EXPECT_EQ(works.back(), "verify nodes");
  for (const auto& [work, steps] : left) EXPECT_EQ(steps, 0U) << work;
}

TEST(ModelInference, EndsWhenItIsCancelled) {
  const ModelCase network = testing::small_network(3, 0.3, 2);
  ModelSpec spec;
  spec.cancelled = [] { return true; };
  ModelInference inference(spec);
  inference.load(network.model, network.inputs[0]);
  inference.plan();
  EXPECT_THROW(inference.run(), Cancelled);
}

TEST(ModelInference, TheReferenceAsAnEngineAsksBeforeEachNodeWhetherToEnd) {
  const ModelCase network = testing::small_network(3, 0.3, 2);
  std::size_t asked = 0;
  ModelSpec spec;
  spec.variant = "conv_reference";
  spec.cancelled = [&] { return ++asked == 0; };
  ModelInference inference(spec);
  inference.load(network.model, network.inputs[0]);
  inference.plan();
  inference.run();
  EXPECT_GT(asked, inference.report().nodes_run);
}

/// The error of load() for images in memory and a model of N x 1 x 2 x 2; empty if it takes them.
std::string image_refusal(const Tensor& images) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 2, 2});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  ModelInference inference(ModelSpec{});
  try {
    inference.load(model, images);
  } catch (const DataError& error) {
    return error.what();
  }
  EXPECT_EQ(inference.report().images, images.shape[0]);
  return {};
}

TEST(ModelInference, ImagesOfMemoryHaveTheModelsShapeOrLeaveOutAxesOfLengthOne) {
  testing::Rng rng(3);
  EXPECT_EQ(image_refusal(testing::random_tensor(rng, {3, 1, 2, 2})), "");
  EXPECT_EQ(image_refusal(testing::random_tensor(rng, {3, 2, 2})), "");
  EXPECT_EQ(image_refusal(testing::random_tensor(rng, {3, 2, 3})),
            "images: images of 2 x 3, expected 1 x 2 x 2, as the model takes them");
  EXPECT_EQ(image_refusal(make_tensor({0, 2, 2}, {})), "images: holds no images");
  EXPECT_EQ(image_refusal(make_tensor({}, {1})), "images: a single number, expected an array of images");
  EXPECT_EQ(image_refusal(Tensor{{1, 2, 2}, std::vector<float>{1, 2, 3}}), "images: 3 numbers for 1 x 2 x 2");
  EXPECT_TRUE(image_refusal(make_tensor({1, 2, 2}, {1, 2, NAN, 4})).starts_with("images: "));
}

TEST(ModelInference, LabelsAndLogitsOfMemoryAreComparedAsThoseOfFilesAre) {
  const Tensor images = make_tensor({2, 2}, {1, 1, 1, 0});
  ModelSpec spec;
  spec.variant = "conv_reference";
  spec.truth.label_list = {1, 0};
  spec.truth.min_accuracy = 1;
  EXPECT_EQ(model_report(spec, two_sums(), images).verdict.status, Verdict::Status::passed);
  spec.truth.label_list = {0, 0};
  EXPECT_EQ(model_report(spec, two_sums(), images).verdict.status, Verdict::Status::failed);
  spec.truth.label_list = {0, 2};
  EXPECT_THROW(model_report(spec, two_sums(), images), DataError);
  spec.truth.label_list = {0};
  EXPECT_THROW(model_report(spec, two_sums(), images), DataError);

  spec.truth = {};
  spec.truth.expected_outputs = {{"", make_tensor({2, 2}, {3, 3.F + 0x1p-20F, 1, 1})}};
  EXPECT_EQ(model_report(spec, two_sums(), images).verdict.status, Verdict::Status::passed);
  spec.truth.expected_outputs = {{"", make_tensor({1, 2}, {3, 3.F + 0x1p-20F})}};
  const ModelReport right = model_report(spec, two_sums(), images);
  EXPECT_EQ(right.verdict.status, Verdict::Status::unverified);
  EXPECT_EQ(right.expected->against, "the outputs given on the first 1 of 2 images, a sample");
  spec.truth.expected_outputs = {{"", make_tensor({2, 2}, {3, 3, 1, 1})}};
  EXPECT_EQ(model_report(spec, two_sums(), images).verdict.status, Verdict::Status::failed);
  spec.truth.expected_outputs = {{"", make_tensor({1, 3}, {3, 3, 3})}};
  EXPECT_THROW(model_report(spec, two_sums(), images), DataError);
}

TEST(ModelVerify, TheReferenceAsksBeforeEachNodeWhetherToEnd) {
  const Tensor images = make_tensor({2, 2}, {1, 1, 1, 0});
  int asked = 0;
  evaluate(two_sums(), {images}, [&] { return ++asked == 0; });
  EXPECT_EQ(asked, 1);
  EXPECT_THROW(evaluate(two_sums(), {images}, [] { return true; }), Cancelled);
  ModelEngineOptions options{.precision = Precision::fp64};
  const Tensor logits = make_tensor({2, 2}, {3, 3, 1, 1});
  const auto check = [&] {
    check_nodes(find_model_variant("conv_reference"), two_sums(), images, 2, only_output(logits), options, {});
  };
  asked = 0;
  options.cancelled = [&] { return ++asked == 0; };
  check();
  const int last = asked;  // before the node that is compared
  asked = 0;
  options.cancelled = [&] { return ++asked == last; };
  EXPECT_THROW(check(), Cancelled);
}

/// Also where no node makes the first output, so that there is nothing to compare it with.
TEST(ModelVerify, NodeByNodeTellsHowManyImagesAreDone) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(Activation{}, {x});
  const Model model = builder.finish({x, y});
  testing::Rng rng(4);
  const Tensor images = testing::random_tensor(rng, {6, 2});
  std::vector<std::uint64_t> done;
  const auto heard = [&](const ProgressUpdate& update) {
    if (!update.over) done.push_back(update.done);
  };
  ModelEngineOptions options{.precision = Precision::fp64};
  const NodeCheck check =
      check_nodes(find_model_variant("conv_reference"), model, images, 6, only_output(images), options, heard);
  EXPECT_EQ(check.images, 6U);
  EXPECT_EQ(done, (std::vector<std::uint64_t>{0, 4, 6}));
}

/// Images go through the engine a few at a time; each is compared with its own logits of the run.
TEST(ModelVerify, NodeByNodeComparesEachBatchWithItsOwnLogits) {
  testing::Rng rng(6);
  const Tensor images = testing::random_tensor(rng, {9, 2});
  std::vector<float> logits;
  for (std::size_t i = 0; i < 9; ++i) {
    const float a = images.values[2 * i];
    const float b = images.values[2 * i + 1];
    logits.insert(logits.end(), {a + 2.F * b, static_cast<float>(a + (2.0 + 0x1p-20) * b)});
  }
  const auto difference = [&](const std::vector<float>& of_the_run) {
    return check_nodes(find_model_variant("conv_reference"), two_sums(), images, 9,
                       only_output(make_tensor({9, 2}, of_the_run)), {.precision = Precision::fp64}, {})
        .largest_difference;
  };
  EXPECT_LT(difference(logits), 1e-6);
  for (const std::size_t image : {0U, 3U, 4U, 8U}) {
    std::vector<float> wrong = logits;
    wrong[2 * image + 1] += 1;
    EXPECT_NEAR(difference(wrong), 1, 1e-6) << image;
  }
}

/// An engine that returns given numbers for each node, whatever the model.
class MadeUp final : public ModelEngine {
 public:
  static inline std::vector<Tensor> values;
  void load(const Tensor& /*images*/) override {}
  void reset() override {}
  Index advance(Index /*first*/, Index until) override { return until; }
  std::vector<Tensor> outputs() override { return values; }
  std::optional<Index> overflow() const override { return {}; }
};

ModelVariant made_up_variant() {
  return {"made_up",
          Device::cpu,
          "for tests",
          {Precision::fp32},
          [](const Model&, const ModelEngineOptions&) { return Support{}; },
          [](std::shared_ptr<const Model>, const ModelEngineOptions&, const Support&) -> std::unique_ptr<ModelEngine> {
            return std::make_unique<MadeUp>();
          }};
}

TEST(ModelVerify, NodeByNodeNamesTheNodeThatIsFarthestOff) {
  const ModelVariant variant = made_up_variant();
  const Linear sum{testing::make_matrix(2, {{{0, 1.F}, {1, 1.F}}, {{1, 1.F}}}), {}};
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(sum, {x});
  const Model model = builder.finish({builder.add(sum, {y})});
  const auto check = [&](float first, float second) {
    MadeUp::values = {make_tensor({1, 2}, {2 + first, 1}), make_tensor({1, 2}, {3 + first + second, 1})};
    return check_nodes(variant, model, make_tensor({1, 2}, {1, 1}), 1, only_output(MadeUp::values[1]), {}, {});
  };
  const NodeCheck at_first = check(1, 0x1p-10F);
  const NodeCheck at_second = check(0x1p-10F, 1);
  EXPECT_EQ(at_first.worst, "node 1 \"node0\" (linear)");
  EXPECT_EQ(at_second.worst, "node 2 \"node1\" (linear)");
  for (const NodeCheck& one : {at_first, at_second}) EXPECT_GT(one.largest_ratio, 1e5);
  EXPECT_EQ(check(0, 0).largest_ratio, 0);
}

/// The sum of large numbers has a wide bound, of which nothing is left for the ReLU that reads what the engine found.
TEST(ModelVerify, NodeByNodeHoldsANodeToTheBoundForItsOwnInputs) {
  const ModelVariant variant = made_up_variant();
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const ValueId y = builder.add(Linear{testing::make_matrix(2, {{{0, 1e6F}, {1, -1e6F}}}), {}}, {x});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {y})});
  const auto check = [&](float sum, float after) {
    MadeUp::values = {make_tensor({1, 1}, {sum}), make_tensor({1, 1}, {after})};
    return check_nodes(variant, model, make_tensor({1, 2}, {2, 1}), 1, only_output(MadeUp::values[1]), {}, {});
  };
  constexpr float kSum = 1e6F;
  EXPECT_TRUE(check(kSum + 0.0625F, kSum + 0.0625F).right());
  const NodeCheck wrong = check(kSum + 0.0625F, kSum);
  EXPECT_FALSE(wrong.right());
  EXPECT_EQ(wrong.worst, "node 2 \"node1\" (relu)");
}

/// Other kernels than those of the run would prove nothing about them.
TEST(ModelVerify, NodeByNodeRunsTheKernelsOfTheRunOnFewImages) {
  static ModelEngineOptions asked;
  const ModelVariant variant{"made_up",
                             Device::cpu,
                             "for tests",
                             {Precision::fp32},
                             [](const Model&, const ModelEngineOptions&) { return Support{}; },
                             [](std::shared_ptr<const Model>, const ModelEngineOptions& options,
                                const Support&) -> std::unique_ptr<ModelEngine> {
                               asked = options;
                               return std::make_unique<MadeUp>();
                             }};
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  MadeUp::values = {make_tensor({1, 1}, {1})};
  check_nodes(variant, model, make_tensor({3, 1}, {1, 1, 1}), 1, only_output(MadeUp::values[0]),
              {.batch = 64, .profile = true}, {});
  EXPECT_EQ(asked.batch, 1U);
  EXPECT_FALSE(asked.profile);
  EXPECT_EQ(asked.images_for_kernels(), 64U);
}

/// The tolerance, and whether bounds say anything, depend on the largest logit and bound of all images.
TEST(ModelVerify, TheLargestLogitAndBoundAreThoseOfAllImages) {
  const auto check = [](const std::vector<float>& pixels) {
    const Tensor images = make_tensor({2, 2}, pixels);
    const Bounded exact = evaluate(two_sums(), {images}).front();
    const Tensor logits = make_tensor({2, 2}, {exact.values.begin(), exact.values.end()});
    return *check_logits(two_sums(), images, only_output(logits), 2, {{}, "", 2}, {}, {}).recomputed;
  };
  const LogitCheck first_is_larger = check({0, -400, 1, 1});
  const LogitCheck second_is_larger = check({1, 1, 0, -400});
  for (const LogitCheck& one : {first_is_larger, second_is_larger}) {
    EXPECT_NEAR(one.worst().largest_expected, 800, 0.001);  // of a negative logit
    EXPECT_DOUBLE_EQ(one.worst().tolerance, 1e-4 * one.worst().largest_expected);
    EXPECT_GT(one.worst().largest_bound, 1e-5);
  }
  EXPECT_EQ(first_is_larger.worst().largest_bound, second_is_larger.worst().largest_bound);
  EXPECT_LT(check({1, 1, 1, 1}).worst().largest_bound, first_is_larger.worst().largest_bound / 100);
}

LogitChecks checks_of(const Tensor& logits, const LogitTruth& truth) {
  return check_logits(two_sums(), make_tensor({2, 2}, {1, 1, 1, 0}), only_output(logits), 2, truth, {}, {});
}

TEST(ModelVerify, ALogitBeyondItsBoundIsWrongAndOneWithinIsNot) {
  const float right = 3.F + 0x1p-20F;
  const LogitTruth all{{}, "", 2};
  const LogitCheck good = *checks_of(make_tensor({2, 2}, {3, right, 1, 1}), all).recomputed;
  EXPECT_TRUE(good.right());
  EXPECT_EQ(good.worst().largest_ratio, 0);
  EXPECT_EQ(good.differing, 0U);
  const LogitCheck wrong = *checks_of(make_tensor({2, 2}, {3, right, 1, 1 + 0x1p-18F}), all).recomputed;
  EXPECT_FALSE(wrong.right());
  EXPECT_EQ(wrong.first_ids, std::vector<Index>{2});
  const LogitTruth one_given{{make_tensor({1, 2}, {3, right})}, "given", 2};
  const LogitChecks both = checks_of(make_tensor({2, 2}, {3, right, 1, 1 + 0x1p-18F}), one_given);
  EXPECT_TRUE(both.expected->right());
  EXPECT_FALSE(both.recomputed->right()) << "of the image beyond the given ones";
  EXPECT_EQ(both.recomputed->images, 2U);
  const LogitCheck none = *checks_of(make_tensor({2, 2}, {3, right, NAN, 1}), all).recomputed;
  EXPECT_EQ(none.outside, 1U);
  EXPECT_TRUE(std::isinf(none.worst().largest_ratio));
}

TEST(ModelVerify, TheReferenceTakesNoMoreMemoryThanItMay) {
  LogitTruth truth{{}, "", 1, 10};
  EXPECT_THROW(checks_of(make_tensor({2, 2}, {3, 3, 1, 1}), truth), DeviceError);
  const std::size_t needed =
      support_of(find_model_variant("conv_reference"), two_sums(), {.precision = Precision::fp64}).working_bytes;
  truth.host_memory = needed - 1;
  EXPECT_THROW(checks_of(make_tensor({2, 2}, {3, 3, 1, 1}), truth), DeviceError);
  for (const std::size_t enough : {needed, std::size_t{1} << 20U}) {
    truth.host_memory = enough;
    EXPECT_TRUE(checks_of(make_tensor({2, 2}, {3, 3, 1, 1}), truth).recomputed) << enough;
  }
}

TEST(ModelVerdict, ABoundThatIsInfiniteIsSaidToProveNothing) {
  ModelReport report;
  report.expected =
      LogitCheck{.against = "given", .images = 1, .outputs = {{.largest_bound = HUGE_VAL, .largest_expected = 1}}};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  report.verdict = verdict_of(report);
  EXPECT_NE(to_text(report).find("infinite bounds prove nothing"), std::string::npos);
  report.expected->outputs[0].largest_bound = 0;
  EXPECT_EQ(to_text(report).find("infinite"), std::string::npos);
}

TEST(ModelVerdict, SaysHowLessThanFp32DiffersFromIt) {
  ModelReport report;
  EXPECT_EQ(to_text(report).find("against fp32"), std::string::npos);
  report.precision = Precision::bf16;
  report.predictions = {0, 1, 2};
  report.against_fp32 = ModelDifference{"conv_dense", 2, 0.5};
  EXPECT_NE(to_text(report).find("bf16 against fp32 by conv_dense: 2 of 3 predictions differ, outputs by at most 0.5"),
            std::string::npos);
}

TEST(ModelVerify, PredictionsThatRoundingDecidesAreNearTies) {
  const Tensor expected = make_tensor({1, 2}, {3, 3.F + 0x1p-21F});  // two units in the last place
  const LogitTruth one{{expected}, "given", 0};
  const LogitChecks checks = checks_of(make_tensor({2, 2}, {3.F + 0x1p-21F, 3.F, 1, 1}), one);
  EXPECT_FALSE(checks.recomputed);
  EXPECT_EQ(checks.expected->images, 1U);
  EXPECT_TRUE(checks.expected->right());
  EXPECT_EQ(checks.expected->differing, 1U);
  ASSERT_EQ(checks.expected->near_ties.size(), 1U);
  EXPECT_EQ(checks.expected->near_ties[0].found, 0U);
  EXPECT_EQ(checks.expected->near_ties[0].expected, 1U);
}

TEST(ModelVerify, ALabelCountsWhereItsLogitIsTheLargestOrAmongTheFive) {
  const Tensor logits = make_tensor({3, 7}, {0, 1, 2, 3, 4, 5, 6, 6, 5, 4, 3, 2, 1, 0, 1, 1, 1, 1, 1, 1, 1});
  const Accuracy accuracy = accuracy_of(logits, {6, 4, 6});
  EXPECT_EQ(accuracy.classes, 5U);
  EXPECT_EQ(accuracy.correct, 1U);
  EXPECT_EQ(accuracy.among, 2U);
  EXPECT_EQ(predictions_of(logits), (std::vector<Index>{6, 0, 0}));
}

TEST(ModelVerdict, BoundsThatSayLittleProveNothingAlone) {
  ModelReport report;
  report.images = 1;
  report.expected =
      LogitCheck{.against = "given", .images = 1, .outputs = {{.largest_bound = 0.01, .largest_expected = 1}}};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
  report.expected->outputs[0].largest_bound = 0.011;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  EXPECT_NE(verdict_of(report).against.find("says little"), std::string::npos);
  report.nodes_checked = NodeCheck{.images = 1, .nodes = 1, .largest_ratio = 0.5, .worst = "a node"};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
  report.nodes_checked->largest_ratio = 1.5;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
  report.nodes_checked.reset();
  report.expected->outside = 1;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
  report.expected->outside = 0;
  report.expected->beyond = 1;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
  EXPECT_NE(verdict_of(report).against.find("times the tolerance"), std::string::npos);
}

/// Bounds of a whole model that say little do not count where each node was compared.
TEST(ModelVerdict, NodesThatWereComparedStandForBoundsThatSayLittle) {
  ModelReport report;
  report.images = 2;
  report.recomputed =
      LogitCheck{.against = "the reference", .images = 2, .outputs = {{.largest_bound = 1, .largest_expected = 1}}};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  report.nodes_checked = NodeCheck{.images = 2, .nodes = 1, .largest_ratio = 0.5, .worst = "a node"};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
  EXPECT_EQ(verdict_of(report).against.find("says little"), std::string::npos);
  EXPECT_NE(verdict_of(report).against.find("the reference: largest deviation"), std::string::npos);
  report.expected =
      LogitCheck{.against = "given", .images = 2, .outputs = {{.largest_bound = 1, .largest_expected = 1}}};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
  EXPECT_NE(verdict_of(report).against.find("given: largest deviation 0 of the bound, which says little"),
            std::string::npos);
}

TEST(ModelVerdict, ASampleFailsOrProvesNothing) {
  ModelReport report;
  report.images = 2;
  report.expected = LogitCheck{.against = "given", .images = 1, .outputs = {{.largest_expected = 1}}};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  report.nodes_checked = NodeCheck{.images = 1, .nodes = 1, .largest_ratio = 0.5, .worst = "a node"};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::unverified);
  report.accuracy = Accuracy{.images = 2, .correct = 2, .classes = 1, .among = 2, .at_least = 0.5};
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
  report.accuracy->correct = 0;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
  report.accuracy.reset();
  report.expected->outside = 1;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::failed);
  report.expected->outside = 0;
  report.nodes_checked->images = 2;
  EXPECT_EQ(verdict_of(report).status, Verdict::Status::passed);
}

TEST(ModelInference, AnAccuracyThatAnyLabelsReachIsRefused) {
  for (const double least : {0.0, -0.5, 1.5, std::nan("")}) {
    ModelSpec spec;
    spec.truth.label_list = {1, 0};
    spec.truth.min_accuracy = least;
    EXPECT_THROW(ModelInference{spec}, UsageError) << least;
  }
}

/// Where the processor computes in bf16. Nothing else is known of such a run: bounds hold in fp32.
TEST(AgainstFp32, ARunInBf16IsComparedByTheSameEngineAndNotWithWhatWasExpected) {
  const ModelCase network = testing::small_network(3, 0.3, 5);
  ModelSpec spec;
  spec.variant = "conv_dense";
  spec.precision = Precision::bf16;
  spec.trials = 2;
  if (!support_of(find_model_variant("conv_dense"), network.model, {.precision = Precision::bf16}).takes())
    GTEST_SKIP() << "no bf16";
  const ModelReport report = model_report(spec, network.model, network.inputs[0]);
  EXPECT_EQ(report.precision, Precision::bf16);
  ASSERT_TRUE(report.against_fp32);
  EXPECT_EQ(report.against_fp32->variant, "conv_dense");
  EXPECT_GT(report.against_fp32->largest_difference, 0);
  EXPECT_LT(report.against_fp32->largest_difference, 1);
  spec.truth.sample = 1;
  EXPECT_THROW(model_report(spec, network.model, network.inputs[0]), UsageError);
  spec.truth = {};
  spec.truth.expected_outputs = {{report.outputs[0].name, report.outputs[0].values},
                                 {report.outputs[1].name, report.outputs[1].values}};
  EXPECT_THROW(model_report(spec, network.model, network.inputs[0]), UsageError);
  spec.truth = {};
  spec.precision.reset();
  EXPECT_FALSE(model_report(spec, network.model, network.inputs[0]).against_fp32);
}

TEST(AgainstFp32, PredictionsThatDifferAreCounted) {
  ModelReport report;
  report.outputs = only_output(make_tensor({3, 2}, {1, 2, 3, 4, 6, 5}));
  report.classes = 2;
  report.predictions = predictions_of(report.logits());
  const ModelDifference same = difference_from(report, "conv_dense", {report.logits()});
  EXPECT_EQ(same.differing, 0U);
  EXPECT_EQ(same.largest_difference, 0);
  EXPECT_EQ(same.variant, "conv_dense");
  const ModelDifference other = difference_from(report, "conv_dense", {make_tensor({3, 2}, {2.5F, 2, 3, 4, 4, 5})});
  EXPECT_EQ(other.differing, 2U);
  EXPECT_EQ(other.largest_difference, 2);
  report.classes = 0;  // the output is no list of classes
  report.predictions.clear();
  EXPECT_EQ(difference_from(report, "conv_dense", {make_tensor({3, 2}, {2.5F, 2, 3, 4, 4, 5})}).differing, 0U);
}

TEST(ModelVerdict, AWrongWeightThatTheBoundOfADeepModelHidesIsBeyondTheTolerance) {
  const auto deep = [](float factor) {
    testing::Rng rng(31);
    ModelBuilder builder;
    ValueId x = builder.input({kBatchExtent, 24});
    for (int layer = 0; layer < 14; ++layer) {
      Linear linear;
      CsrMatrix weights = testing::random_weights(rng, 24, 24, 1);
      std::vector<float> values(weights.values.begin(), weights.values.end());
      if (layer == 4) values[100] *= factor;
      weights.values = std::move(values);
      linear.weights = std::move(weights);
      x = builder.add(Activation{}, {builder.add(linear, {x})});
    }
    return builder.finish({x});
  };
  testing::Rng rng(32);
  const Tensor images = testing::random_tensor(rng, {3, 24});
  const auto logits_of = [&](const Model& model) {
    const Bounded exact = evaluate(model, {images}).front();
    return make_tensor(exact.shape, {exact.values.begin(), exact.values.end()});
  };
  const Tensor expected = logits_of(deep(1));
  const auto check_of = [&](float factor) {
    const Model model = deep(factor);
    return *check_logits(model, images, only_output(logits_of(model)), 24, {{expected}, "given", 0}, {}, {}).expected;
  };
  const LogitCheck good = check_of(1);
  EXPECT_TRUE(good.right());
  EXPECT_FALSE(good.conclusive());
  EXPECT_EQ(good.worst().tolerance, 1e-4 * good.worst().largest_expected);
  const LogitCheck wrong = check_of(0.5F);
  EXPECT_EQ(wrong.outside, 0U);  // the bounds say nothing
  EXPECT_EQ(wrong.beyond, 3U);
  EXPECT_EQ(wrong.first_ids, (std::vector<Index>{1, 2, 3}));
  EXPECT_EQ(wrong.worst().widened, 1);  // the model is not sensitive to rounding
}

/// y = (1000 a + b / 10) - 1000 a, of which fp32 loses 3e-4 of b / 10.
Model small_difference_of_large(Extent images) {
  ModelBuilder builder;
  const ValueId x = builder.input({images, 2});
  const ValueId sum = builder.add(Linear{testing::make_matrix(2, {{{0, 1000.F}, {1, 0.1F}}}), {}}, {x});
  const ValueId most = builder.add(Linear{testing::make_matrix(2, {{{0, 1000.F}}}), {}}, {x});
  return builder.finish({builder.add(Elementwise{Elementwise::Kind::subtract}, {sum, most})});
}

TEST(ModelVerdict, AModelThatIsSensitiveToRoundingHasAWiderTolerance) {
  const Model model = small_difference_of_large(kBatchExtent);
  const Tensor images = make_tensor({3, 2}, {0.7F, 0.9F, 0.61F, -0.3F, 0.83F, 0.5F});
  const Bounded exact = evaluate(model, {images}).front();
  const auto check = [&](float off) {
    std::vector<float> found(exact.values.begin(), exact.values.end());
    found[1] += off;
    return *check_logits(model, images, only_output(make_tensor(exact.shape, found)), 0, {{}, "", 3}, {}, {})
                .recomputed;
  };
  EXPECT_EQ(check(0).worst().widened, 1) << "not asked for";
  const LogitCheck sensitive = check(1e-4F);
  EXPECT_EQ(sensitive.outside + sensitive.beyond, 0U);
  EXPECT_GT(sensitive.worst().widened, 15);
  EXPECT_LE(sensitive.worst().widened, OutputCheck::kMostWidened);
  EXPECT_DOUBLE_EQ(sensitive.worst().tolerance, sensitive.worst().widened * 1e-4 * sensitive.worst().largest_expected);
  EXPECT_GT(sensitive.worst().largest_excess * sensitive.worst().widened, 5);
  EXPECT_EQ(check(1e-2F).outside, 1U);
}

/// Only the second of two images is sensitive to rounding; a model for two at a time runs on both to check the first.
TEST(ModelVerdict, ImagesThatAreNotCheckedWidenNoTolerance) {
  const Tensor images = make_tensor({2, 2}, {0.5F, 10, 0.7F, 0.9F});
  for (const Extent at_once : {kBatchExtent, Extent{2}}) {
    const Model model = small_difference_of_large(at_once);
    const Bounded exact = evaluate(model, {images}).front();
    std::vector<float> found(exact.values.begin(), exact.values.end());
    found[0] += 2e-4F;
    for (const Index checked : {1U, 2U}) {
      const LogitCheck check =
          *check_logits(model, images, only_output(make_tensor(exact.shape, found)), 0, {{}, "", checked}, {}, {})
               .recomputed;
      EXPECT_EQ(std::pair(check.outside, check.beyond), std::pair(0U, checked == 1 ? 1U : 0U)) << checked;
      EXPECT_EQ(check.worst().widened > 1, checked == 2) << checked;
    }
  }
}

/// The comparison of `expected`, which are the model's logits, with `expected` times `factor`.
LogitCheck check_of_scaled(const Model& model, const Tensor& images, double factor) {
  const Bounded exact = evaluate(model, {images}).front();
  const Tensor found = make_tensor(exact.shape, {exact.values.begin(), exact.values.end()});
  std::vector<float> scaled(found.values.begin(), found.values.end());
  for (float& value : scaled) value = static_cast<float>(value * factor);
  const Tensor expected = make_tensor(found.shape, scaled);
  return *check_logits(model, images, only_output(found), 0, {{expected}, "given", 0}, {}, {}).expected;
}

/// Probabilities of many classes are all far below 1, so that a part of 1 would allow any error of them.
TEST(LogitChecks, SmallProbabilitiesMustBeRightAsLargeOnes) {
  constexpr Extent kClasses = 2000;
  for (const bool softmax : {true, false}) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, kClasses});
    const Model model = builder.finish(
        {builder.add(softmax ? Operation(Softmax{1}) : testing::make_activation(Activation::Kind::sigmoid), {x})});
    testing::Rng rng(8);
    Tensor images = testing::random_tensor(rng, {3, kClasses});
    if (!softmax) {
      std::vector<float> low(images.values.begin(), images.values.end());
      for (float& value : low) value = value / 10 - 8;  // sigmoids of about 3e-4
      images = make_tensor(images.shape, low);
    }
    EXPECT_EQ(check_of_scaled(model, images, 1).beyond, 0U) << softmax;
    for (const double factor : {0.9, 1.01, 1.1}) {
      const LogitCheck check = check_of_scaled(model, images, factor);
      EXPECT_EQ(check.beyond + check.outside, 3U) << factor;
      EXPECT_GT(check.worst().largest_excess, 1) << factor;
      EXPECT_FALSE(check.right());
    }
  }
}

/// Whichever comes first.
TEST(LogitChecks, EachOutputHasTheToleranceOfItsOwnNumbers) {
  const auto model_of = [](bool numbers, bool probabilities, bool swapped) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 3});
    std::vector<ValueId> outputs;
    if (numbers) outputs.push_back(builder.add(testing::make_activation(Activation::Kind::relu), {x}));
    if (probabilities) outputs.push_back(builder.add(Softmax{1}, {x}));
    if (swapped) std::swap(outputs.front(), outputs.back());
    return builder.finish(outputs);
  };
  const Tensor images = make_tensor({1, 3}, {200, 198, 190});
  const auto tolerances_of = [&](const Model& model) {
    std::vector<ModelOutput> found;
    LogitTruth truth{{}, "given", 0};
    for (const Bounded& exact : evaluate(model, {images})) {
      const Tensor values = make_tensor(exact.shape, {exact.values.begin(), exact.values.end()});
      found.push_back({std::to_string(found.size()), values.shape, values});
      truth.expected.push_back(values);
    }
    std::vector<double> tolerances;
    const LogitChecks checks = check_logits(model, images, found, 0, truth, {}, {});
    for (const OutputCheck& output : checks.expected->outputs) tolerances.push_back(output.tolerance);
    return tolerances;
  };
  const double of_numbers = tolerances_of(model_of(true, false, false)).front();
  const double of_probabilities = tolerances_of(model_of(false, true, false)).front();
  EXPECT_GT(of_numbers, 10 * of_probabilities);
  EXPECT_EQ(tolerances_of(model_of(true, true, false)), (std::vector{of_numbers, of_probabilities}));
  EXPECT_EQ(tolerances_of(model_of(true, true, true)), (std::vector{of_probabilities, of_numbers}));
}

/// Libraries compute sigmoids as differences of numbers near 1/2, so that tiny ones have few correct digits.
TEST(LogitChecks, TinyProbabilitiesMayBeOffByAUnitInTheLastPlaceOfOne) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::sigmoid), {x})});
  const Tensor images = make_tensor({1, 2}, {-16, -20});
  const Tensor found = make_tensor({1, 2}, {1.2e-7F, 1e-9F});
  const Tensor expected = make_tensor({1, 2}, {0, 1.2e-7F});
  EXPECT_EQ(check_logits(model, images, only_output(found), 2, {{expected}, "given", 0}, {}, {}).expected->beyond, 0U);
}

/// Detectors join boxes of hundreds of pixels with probabilities.
TEST(LogitChecks, ProbabilitiesBesideOtherNumbersHaveTheirOwnTolerance) {
  const Activation identity = testing::make_activation(Activation::Kind::identity);
  const auto check = [&](const std::vector<Operation>& before, const std::vector<float>& of_probabilities) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2, 1});
    ValueId y = builder.add(Softmax{1}, {x});
    for (const Operation& operation : before) y = builder.add(operation, {y});
    const ValueId product = builder.add(Elementwise{Elementwise::Kind::multiply}, {y, y});
    const Model model =
        builder.finish({builder.add(Reshape{{kBatchExtent, 6}}, {builder.add(Concat{1}, {y, product, x})})});
    const Tensor images = make_tensor({1, 2, 1}, {640, 640});
    const std::vector<float> found = {0.5F, 0.5F, 0.25F, 0.25F, 640, 640};
    std::vector<float> expected = found;
    for (std::size_t i = 0; i < of_probabilities.size(); ++i) expected[i] += of_probabilities[i];
    const Tensor given = make_tensor({1, 6}, expected);
    return *check_logits(model, images, only_output(make_tensor({1, 6}, found)), 0, {{given}, "given", 0}, {}, {})
                .expected;
  };
  const std::vector<Operation> moved = {identity, Transpose{{0, 2, 1}}, Pad{{0, 0, 0}, {0, 0, 1}, 0},
                                        Pad{{0, 0, 0}, {0, 0, -1}, 0}, Transpose{{0, 2, 1}}};
  for (const auto& before : {std::vector<Operation>{}, moved}) {
    const auto excess = [&](const std::vector<float>& off) { return check(before, off).worst().largest_excess; };
    EXPECT_EQ(check(before, {}).worst().tolerance, 1e-4 * 640);
    EXPECT_LT(excess({5e-5F}), 1);
    EXPECT_GT(excess({2e-4F}), 1);
    EXPECT_GT(excess({0, 0, 2e-4F}), 1) << "a product of two";
    EXPECT_LT(excess({0, 0, 0, 0, 0.05F}), 1) << "a number of another size";
    EXPECT_GT(excess({0, 0, 0, 0, 0.07F}), 1);
  }
  const std::vector<Operation> changed = {testing::make_activation(Activation::Kind::tanh)};
  EXPECT_LT(check(changed, {2e-4F}).worst().largest_excess, 1) << "no longer a probability";
  for (const bool sum : {false, true}) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const Elementwise combine{sum ? Elementwise::Kind::add : Elementwise::Kind::multiply};
    const ValueId softmax = builder.add(Softmax{1}, {x});
    const Model model = builder.finish({builder.add(combine, {softmax, sum ? x : softmax})});
    const Tensor found = make_tensor({1, 2}, sum ? std::vector{640.5F, 640.5F} : std::vector{0.25F, 0.25F});
    const Tensor given = make_tensor({1, 2}, {found.values[0] + 2e-4F, found.values[1]});
    const LogitChecks checks =
        check_logits(model, make_tensor({1, 2}, {640, 640}), only_output(found), 0, {{given}, "given", 0}, {}, {});
    EXPECT_EQ(checks.expected->worst().largest_excess > 1, !sum) << "a probability and a number are none";
  }
  const std::vector<Operation> padded = {Pad{{0, 0, 0}, {0, 0, 1}, 1}, Pad{{0, 0, 0}, {0, 0, -1}, 0}};
  EXPECT_LT(check(padded, {2e-4F}).worst().largest_excess, 1) << "beside a number that is none";
}

/// The reference runs the model as read; expected logits reveal a model that was read wrongly.
TEST(ModelInference, ExpectedLogitsMustHoldWhereTheReferenceDoes) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2000});
  const Model model = builder.finish({builder.add(Softmax{1}, {x})});
  testing::Rng rng(9);
  const Tensor images = testing::random_tensor(rng, {2, 2000});
  ModelSpec spec;
  spec.variant = "conv_reference";
  const Tensor found = model_report(spec, model, images).logits();
  for (const float factor : {1.0F, 1.1F}) {
    std::vector<float> expected(found.values.begin(), found.values.end());
    for (float& value : expected) value *= factor;
    spec.truth.expected_outputs = {{"", make_tensor(found.shape, expected)}};
    spec.truth.everything = true;
    const ModelReport report = model_report(spec, model, images);
    ASSERT_TRUE(report.recomputed.has_value());
    EXPECT_TRUE(report.recomputed->right());
    EXPECT_FALSE(report.nodes_checked.has_value()) << "the reference's nodes are those of the run";
    EXPECT_EQ(report.verdict.status, factor == 1 ? Verdict::Status::passed : Verdict::Status::failed);
  }
}

TEST(ModelInference, ExpectedRowsBeyondTheImagesAreLeftOut) {
  ModelSpec spec;
  spec.variant = "conv_reference";
  const Tensor images = make_tensor({2, 2}, {1, 1, 1, 0});
  spec.truth.expected_outputs = {{"", make_tensor({3, 2}, {3, 3.F + 0x1p-20F, 1, 1, 7, 7})}};
  const ModelReport report = model_report(spec, two_sums(), images);
  EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
  EXPECT_EQ(report.expected->images, 2U);
  EXPECT_NE(std::find(report.notes.begin(), report.notes.end(), "expected: the first 2 of 3 rows are compared"),
            report.notes.end());
}

}  // namespace
}  // namespace spdnn
