// Runs of models whose settings all differ from the default: what the engine is asked, what the report says of it, and
// what is taken from files.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/devices.hpp"
#include "engines/model_engine.hpp"
#include "inference/model/load.hpp"
#include "inference/model/run.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "spdnn/model_inference.hpp"
#include "support/models.hpp"
#include "support/zip_archive.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

/// Gives two numbers for each image, of which the second has the number of the trial where it is to differ. Records
/// what it is asked.
class ScriptedModel final : public ModelEngine {
 public:
  static inline std::vector<std::string> calls;
  static inline std::vector<int> trials_that_differ;  ///< of each batch

  void load(const Tensor& images) override {
    images_ = images;
    trial_ = 0;
    calls.push_back(fmt::format("load {} from {}", images.shape[0], images.values[0]));
  }
  void announce(const Tensor& images) override {
    calls.push_back(fmt::format("announce {} from {}", images.shape[0], images.values[0]));
  }
  void reset() override {}
  Index advance(Index /*first*/, Index until) override { return until; }
  std::vector<Tensor> outputs() override {
    std::vector<float> numbers;
    for (const float image : images_.values) numbers.insert(numbers.end(), {image, 10 * image});
    const bool differs =
        std::find(trials_that_differ.begin(), trials_that_differ.end(), trial_) != trials_that_differ.end();
    if (differs) numbers.back() += static_cast<float>(trial_);
    ++trial_;
    return {make_tensor({images_.shape[0], 2}, numbers), make_tensor({images_.shape[0], 2}, numbers)};
  }
  std::optional<Index> overflow() const override { return {}; }
  std::vector<double> node_seconds() const override { return {static_cast<double>(trial_)}; }
  std::vector<std::string> notes() const override { return {"scripted"}; }

 private:
  Tensor images_;
  int trial_ = 0;
};

/// Five images, two at a time, in three trials.
ModelRunResult run_scripted(std::vector<int> differing) {
  static const ModelVariant variant{
      "scripted",
      Device::cpu,
      "for tests",
      {Precision::fp32},
      [](const Model&, const ModelEngineOptions&) { return Support{}; },
      [](std::shared_ptr<const Model>, const ModelEngineOptions&, const Support&) -> std::unique_ptr<ModelEngine> {
        return std::make_unique<ScriptedModel>();
      }};
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1});
  const ValueId y = builder.add(Concat{1}, {x, x});
  const Model model = builder.finish({y, y});
  ModelRunOptions options;
  options.engine.batch = 2;
  options.engine.threads = 1;
  options.trials = 3;
  ScriptedModel::calls.clear();
  ScriptedModel::trials_that_differ = std::move(differing);
  return run_model(variant, std::make_shared<const Model>(model), make_tensor({5, 1}, {1, 2, 3, 4, 5}), options);
}

TEST(RunModel, AnnouncesTheImagesThatFollowAndJoinsTheirOutputs) {
  const ModelRunResult result = run_scripted({});
  EXPECT_EQ(ScriptedModel::calls, (std::vector<std::string>{"load 2 from 1", "announce 2 from 3", "load 2 from 3",
                                                            "announce 1 from 5", "load 1 from 5"}));
  const std::vector<float> expected{1, 10, 2, 20, 3, 30, 4, 40, 5, 50};
  ASSERT_EQ(result.outputs.size(), 2U);
  for (const Tensor& output : result.outputs)
    EXPECT_EQ(std::vector<float>(output.values.begin(), output.values.end()), expected);
  EXPECT_EQ(result.differing_trials, 0);
  EXPECT_EQ(result.batch, 2U);
  EXPECT_EQ(result.threads, 1);
  EXPECT_EQ(result.notes, std::vector<std::string>{"scripted"});
  EXPECT_EQ(result.node_seconds, std::vector<double>{3 * (1 + 2 + 3) / 3.0}) << "means of trials, sums of batches";
}

/// Whatever number of the outputs it is that differs.
TEST(RunModel, CountsTheTrialsOfBatchesThatDifferFromTheFirst) {
  EXPECT_EQ(run_scripted({1}).differing_trials, 3);
  EXPECT_EQ(run_scripted({1, 2}).differing_trials, 6);
  const ModelRunResult first = run_scripted({0});
  EXPECT_EQ(first.differing_trials, 0) << "plus 0";
  const ModelRunResult result = run_scripted({2});
  EXPECT_EQ(result.outputs[1].values[9], 50) << "the first trial's are kept";
}

/// 3 inputs, 4 hidden neurons and 2 classes; 8 of 12 and 5 of 8 weights are not zero. The second output doubles the
/// hidden ones.
Model two_layers_with_zeros() {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3});
  const testing::Rows first{{{0, 1.F}, {1, 2.F}}, {{1, -1.F}, {2, 1.F}}, {{0, 0.5F}, {2, 2.F}}, {{0, 1.F}, {1, 1.F}}};
  const testing::Rows last{{{0, 1.F}, {1, -1.F}, {3, 1.F}}, {{1, 1.F}, {2, 2.F}}};
  const ValueId sums = builder.add(Linear{testing::make_matrix(3, first), {0.5F, 0, 0, 1}}, {x});
  const ValueId normed = builder.add(BatchNorm{{2, 2, 2, 2}, {0, 0, 0, 0}, {0, 0, 0, 0}, {1, 1, 1, 1}, 0}, {sums});
  const ValueId hidden = builder.add(Activation{}, {normed});
  const ValueId logits = builder.add(Linear{testing::make_matrix(4, last), {}}, {hidden});
  const ValueId sum = builder.add(Elementwise{}, {hidden, hidden});
  Model model = builder.finish({logits, sum});
  model.name = "two layers";
  return model;
}

/// Seven images; class 0 for those whose first number is large.
Tensor seven_images() { return make_tensor({7, 3}, {4, 1, 0, 0, 1, 4, 4, 2, 1, 1, 0, 5, 6, 0, 1, 0, 0, 3, 5, 5, 0}); }

void write_array(const std::string& path, const Tensor& tensor, bool of_doubles) {
  std::string shape;
  for (const Extent extent : tensor.shape) shape += std::to_string(extent) + ",";
  std::string head =
      fmt::format("{{'descr': '<f{}', 'fortran_order': False, 'shape': ({}), }}", of_doubles ? 8 : 4, shape);
  head.resize(117, ' ');
  head += '\n';
  std::ofstream file(path, std::ios::binary);
  file << std::string("\x93NUMPY\1\0", 8) << static_cast<char>(head.size()) << '\0' << head;
  for (const float value : tensor.values) {
    const double wide = value;
    if (of_doubles)
      file.write(reinterpret_cast<const char*>(&wide), sizeof wide);
    else
      file.write(reinterpret_cast<const char*>(&value), sizeof value);
  }
}

TEST(WholeModels, TellEachOfTheirSettings) {
  ModelSpec spec;
  spec.path = "m.onnx";
  spec.variant = "conv_dense";
  spec.threads = 1;
  spec.batch = 2;
  spec.trials = 3;
  spec.warm_up = 1;
  spec.rewrites = parse_rewrites("affine");
  spec.profile = true;
  spec.compare = true;
  spec.truth.sample = 3;
  spec.truth.label_list = {0, 1, 0, 1, 0, 1, 1};
  ModelInference inference(spec);
  inference.load(two_layers_with_zeros(), seven_images());
  inference.plan();
  inference.run();
  inference.verify();
  const ModelReport& report = inference.report();
  EXPECT_EQ(report.model, "m.onnx");
  EXPECT_EQ(report.name, "two layers");
  EXPECT_EQ(report.input, (Shape{kBatchExtent, 3}));
  EXPECT_EQ(report.available, 7U);
  EXPECT_EQ(report.nodes, 5U);
  EXPECT_EQ(report.nodes_run, 4U);
  EXPECT_EQ(report.weights, 20U);
  EXPECT_EQ(report.nonzeros, 13U);
  EXPECT_EQ(report.multiply_adds.dense, 20);
  EXPECT_EQ(report.multiply_adds.sparse, 13);
  EXPECT_EQ(report.multiply_adds_run.dense, 20);
  EXPECT_EQ(report.multiply_adds_run.sparse, 13);
  EXPECT_EQ(to_string(report.rewrites), "affine");
  EXPECT_EQ(report.images, 7U);
  EXPECT_EQ(report.batch, 2U);
  EXPECT_EQ(report.trials, 3);
  EXPECT_EQ(report.warm_up, 1);
  EXPECT_EQ(report.accuracy->correct, 6U);
  EXPECT_EQ(report.recomputed->images, 3U);
  EXPECT_EQ(report.recomputed->against, "the reference in fp64 on the first 3 of 7 images, a sample");
  EXPECT_EQ(report.nodes_checked->images, 3U);
  EXPECT_EQ(report.nodes_checked->nodes, 4U);
  EXPECT_EQ(report.compared->differing, 0U);
  std::string profiled;
  for (const NodeSeconds& node : report.profile) profiled += node.name + " " + node.operation + ";";
  EXPECT_EQ(profiled, "node0 linear;node2 relu;node3 linear;node4 add;");
  for (const double seconds :
       {report.seconds.read, report.seconds.plan, report.seconds.upload, report.seconds.warm_up, report.seconds.total})
    EXPECT_GT(seconds, 0);
  EXPECT_EQ(std::count(report.notes.begin(), report.notes.end(), "7 of 20 weights are zero (35.00 %); none is skipped"),
            1);
  EXPECT_GT(report.seconds.infer.min, 0);
  EXPECT_GE(report.seconds.infer.sum * (1 + 1e-9),
            report.seconds.infer.min + report.seconds.infer.median + report.seconds.infer.max);
  EXPECT_GT(report.compared->infer.sum, report.compared->infer.max) << "as many trials";
}

/// Of seven images in a file the first five are run; labels and expected outputs are those of all.
TEST(WholeModels, OfTheFirstImagesOfAFileTakeLabelsOfAll) {
  const TemporaryDirectory directory;
  const auto says = [](const ModelReport& report, const std::string& part) {
    return std::any_of(report.notes.begin(), report.notes.end(),
                       [&](const std::string& note) { return note.find(part) != note.npos; });
  };
  ModelSpec spec;
  spec.path = (directory / "m.onnx").string();
  spec.inputs.path = (directory / "x.npy").string();
  spec.truth.expected = (directory / "y.npy").string();
  spec.outputs = {"value4"};
  spec.variant = "conv_reference";
  write_model(spec.path, two_layers_with_zeros());
  write_array(spec.inputs.path, seven_images(), false);
  const auto run = [&] {
    ModelInference inference(spec);
    inference.load();
    EXPECT_THROW(inference.load(), std::logic_error);
    inference.plan();
    inference.run();
    inference.verify();
    return inference.report();
  };
  spec.truth.expected.clear();
  const Tensor all = run().logits();
  ASSERT_EQ(all.shape, (Shape{7, 2}));
  std::ofstream(directory / "names.txt") << "cat\ndog\n";
  for (const bool of_doubles : {false, true}) {
    write_array((directory / "y.npy").string(), all, of_doubles);
    write_array(spec.inputs.path, seven_images(), of_doubles);
    spec.names = (directory / "names.txt").string();
    spec.truth.expected = (directory / "y.npy").string();
    spec.inputs.images = 5;
    spec.truth.label_list = {0, 1, 0, 1, 0, 0, 0};
    const ModelReport report = run();
    EXPECT_EQ(report.images, 5U);
    EXPECT_EQ(report.available, 7U);
    EXPECT_EQ(report.accuracy->images, 5U);
    EXPECT_EQ(report.accuracy->correct, 5U);
    EXPECT_EQ(report.expected->images, 5U);
    EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
    EXPECT_EQ(report.class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_GT(report.seconds.read, 0);
    EXPECT_EQ(says(report, "x.npy: float64 numbers are rounded"), of_doubles);
    EXPECT_EQ(says(report, "y.npy: float64 numbers are rounded"), of_doubles);
    EXPECT_TRUE(says(report, "y.npy: the first 5 of 7 rows are compared"));
  }
  spec.inputs.images = 7;
  EXPECT_FALSE(says(run(), "rows are compared")) << "all of them";
  spec.truth.label_list = {0, 1, 0, 1};
  EXPECT_THROW(run(), DataError);
}

TEST(WholeModels, ExpectedOutputsOfAnArchiveAreTakenAndNotedByName) {
  const TemporaryDirectory directory;
  const auto bytes_of = [&](const Tensor& tensor, bool of_doubles) {
    write_array((directory / "one.npy").string(), tensor, of_doubles);
    std::ifstream file(directory / "one.npy", std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  const std::string path = (directory / "y.npz").string();
  std::ofstream(path, std::ios::binary) << zip_archive({{"b.npy", bytes_of(make_tensor({2, 1}, {5, 6}), true)},
                                                        {"a.npy", bytes_of(make_tensor({2, 2}, {1, 2, 3, 4}), false)}},
                                                       false);
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  Model model = builder.finish({builder.add(Activation{}, {x}), builder.add(Reduce{.axes = {1}}, {x})});
  model.values[model.outputs[0]].name = "a";
  model.values[model.outputs[1]].name = "b";
  ModelTruth truth;
  truth.expected = path;
  std::vector<std::string> notes;
  const std::vector<Tensor> expected = load_expected(truth, model, 1, notes);
  EXPECT_EQ(notes, (std::vector<std::string>{path + ": b: float64 numbers are rounded to float32",
                                             path + ": the first 1 of 2 rows are compared"}));
  EXPECT_EQ(expected[0].shape, (Shape{1, 2}));
  EXPECT_EQ(expected[1].values[0], 5);
  std::ofstream(path, std::ios::binary) << zip_archive({{"z.npy", bytes_of(make_tensor({1, 2}, {1, 2}), false)}}, true);
  model.outputs.pop_back();
  EXPECT_EQ(load_expected(truth, model, 1, notes).at(0).values[1], 2) << "the only array of any name";
}

/// Of an output of 2 x 3 numbers an array of 3 x 2 is another one.
TEST(WholeModels, ExpectedOutputsHaveTheShapeOfTheOutputAndAtLeastOneRow) {
  const auto taken = [](const Tensor& expected) {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 6});
    ModelSpec spec;
    spec.variant = "conv_reference";
    spec.truth.expected_outputs = {{"", expected}};
    ModelInference inference(spec);
    try {
      inference.load(builder.finish({builder.add(Reshape{{kBatchExtent, 2, 3}}, {x})}),
                     make_tensor({1, 6}, {1, 2, 3, 4, 5, 6}));
      return true;
    } catch (const DataError&) {
      return false;
    }
  };
  const std::vector<float> six{1, 2, 3, 4, 5, 6};
  EXPECT_TRUE(taken(make_tensor({1, 2, 3}, six)));
  EXPECT_TRUE(taken(make_tensor({1, 2, 1, 3}, six))) << "an axis of length 1 more";
  EXPECT_FALSE(taken(make_tensor({1, 3, 2}, six)));
  EXPECT_FALSE(taken(make_tensor({1, 6}, six)));
  EXPECT_FALSE(taken(make_tensor({0, 2, 3}, {})));
}

TEST(WholeModels, AnAccuracyIsAskedForOnlyWithLabels) {
  ModelSpec spec;
  spec.truth.min_accuracy = 0.5;
  EXPECT_THROW(ModelInference{spec}, UsageError);
  spec.truth.label_list = {1};
  EXPECT_NO_THROW(ModelInference{spec});
}

/// Each image takes 4 MB.
TEST(WholeModels, MoreImagesThanMemoryHoldsAreRefusedBeforeTheyAreLookedFor) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1 << 20});
  const Model model = builder.finish({builder.add(Activation{}, {x})});
  ModelInputs inputs;
  inputs.path = "nowhere.npy";
  inputs.images = 1;
  EXPECT_THROW(load_model_images(inputs, model), DataError) << "no such file";
  inputs.images = kMaxIndex;
  EXPECT_THROW(load_model_images(inputs, model), DeviceError);
}

/// Images whose outputs exceed the memory several times; no engine is made.
TEST(RunModel, OutputsOfSeveralBatchesThatMemoryDoesNotHoldAreRefused) {
  const std::size_t numbers = memory_budget(Device::cpu, {}) / 4 * 3 / sizeof(float);
  ModelVariant variant = find_model_variant("conv_reference");
  variant.make = [](std::shared_ptr<const Model>, const ModelEngineOptions&,
                    const Support&) -> std::unique_ptr<ModelEngine> { throw std::logic_error("made"); };
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 1});
  const Extent width = static_cast<Extent>(std::min<std::size_t>(numbers, kMaxIndex));
  const auto model = std::make_shared<const Model>(builder.finish({builder.add(Resize{.size = {1, width}}, {x})}));
  ModelRunOptions options;
  options.engine.batch = 1;
  const auto images = static_cast<Extent>(8 * numbers / static_cast<std::size_t>(width));
  EXPECT_THROW(run_model(variant, model, make_tensor({images, 1, 1}, std::vector<float>(images)), options),
               DeviceError);
}

/// One image of 2 x 3 pixels of two channels.
TEST(WholeModels, ChannelsOfImagesInFilesAreLastWhereThatIsSaid) {
  const TemporaryDirectory directory;
  ModelSpec spec;
  spec.path = (directory / "m.onnx").string();
  spec.inputs.path = (directory / "x.npy").string();
  spec.variant = "conv_reference";
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2, 2, 3});
  write_model(spec.path, builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})}));
  const auto numbers = [&](bool last, const Shape& shape) {
    write_array(spec.inputs.path, make_tensor(shape, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}), false);
    spec.inputs.channels_last = last;
    ModelInference inference(spec);
    inference.load();
    inference.plan();
    inference.run();
    const Tensor& found = inference.report().outputs[0].values;
    return std::vector<float>(found.values.begin(), found.values.end());
  };
  EXPECT_EQ(numbers(false, {1, 2, 2, 3}), (std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  EXPECT_EQ(numbers(true, {1, 2, 3, 2}), (std::vector<float>{1, 3, 5, 7, 9, 11, 2, 4, 6, 8, 10, 12}));
}

}  // namespace
}  // namespace spdnn
