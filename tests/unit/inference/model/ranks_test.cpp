// A model on several ranks, which are threads here: the bits of one rank, one report, and failures.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "cluster/model_fields.hpp"
#include "cluster/parcel.hpp"
#include "cluster/together.hpp"
#include "engines/devices.hpp"
#include "inference/model/on_ranks.hpp"
#include "inference/ranks/inference_on_ranks.hpp"
#include "spdnn/error.hpp"
#include "support/models.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

using testing::ModelBuilder;
using testing::ModelCase;

/// The first two steps, with the root's model and images.
void load_and_plan(ModelInferenceOnRanks& inference, const Communicator& rank, const Model& model,
                   const Tensor& images) {
  if (rank.is_root())
    inference.load(model, images);
  else
    inference.load();
  inference.plan();
}

/// The root's report; the test fails if a rank throws.
ModelReport report_on(int ranks, const ModelSpec& spec, const Model& model, const Tensor& images) {
  ModelReport report;
  const auto work = [&](Communicator& rank) {
    ModelInferenceOnRanks inference(spec, rank);
    load_and_plan(inference, rank, model, images);
    inference.run();
    inference.verify();
    if (rank.is_root()) report = inference.report();
  };
  for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
  return report;
}

bool same_logit_bits(const Tensor& a, const Tensor& b) {
  return a.shape == b.shape && a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.bytes()) == 0;
}

ModelSpec reference() {
  ModelSpec spec;
  spec.variant = "conv_reference";
  spec.threads = 1;
  spec.truth.everything = true;
  return spec;
}

TEST(ModelOnRanks, HasTheBitsOfOneRankAndOneReport) {
  const ModelCase network = testing::small_network(3, 0.3, 5);
  ModelSpec spec = reference();
  spec.trials = 2;
  spec.profile = true;
  spec.host_memory = std::size_t{1} << 30U;
  const ModelReport alone = report_on(1, spec, network.model, network.inputs[0]);
  EXPECT_FALSE(alone.ranks.has_value());
  for (const int ranks : {2, 3, 7}) {
    const ModelReport report = report_on(ranks, spec, network.model, network.inputs[0]);
    ASSERT_EQ(report.outputs.size(), 2U);
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(same_logit_bits(report.outputs[i].values, alone.outputs[i].values)) << ranks << ", output " << i;
    EXPECT_EQ(report.predictions, alone.predictions);
    EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
    EXPECT_EQ(report.recomputed->images, 5U);
    ASSERT_TRUE(report.ranks.has_value());
    EXPECT_EQ(report.ranks->ranks, ranks);
    EXPECT_EQ(report.ranks->images.min, 5 / ranks);
    EXPECT_EQ(report.ranks->images.max, (5 + ranks - 1) / ranks);
    EXPECT_EQ(report.batch, static_cast<Index>((5 + ranks - 1) / ranks));
    EXPECT_EQ(report.seconds.upload, report.ranks->upload.max);
    EXPECT_GE(report.seconds.infer.max, report.ranks->infer.max);
    EXPECT_EQ(report.profile.size(), alone.profile.size());
    EXPECT_GT(report.seconds.share, 0);
  }
}

/// The first of two ranks has no image; the other times its nodes.
TEST(ModelOnRanks, TheTimesOfNodesAreThoseOfWhicheverRankIsLongest) {
  const ModelCase network = testing::small_network(3, 0.3, 1);
  ModelSpec spec = reference();
  spec.variant = "conv_dense";
  spec.truth.everything = false;
  spec.profile = true;
  const ModelReport report = report_on(2, spec, network.model, network.inputs[0]);
  EXPECT_EQ(report.ranks->images.min, 0);
  EXPECT_EQ(report.profile.size(), report.nodes_run);
}

TEST(ModelOnRanks, ComparesWithTheModelAsGiven) {
  const ModelCase network = testing::small_network(3, 0.3, 5);
  ModelSpec spec = reference();
  spec.compare = true;
  spec.trials = 2;
  for (const int ranks : {1, 2, 7}) {
    const ModelReport report = report_on(ranks, spec, network.model, network.inputs[0]);
    ASSERT_TRUE(report.compared) << ranks;
    EXPECT_EQ(report.compared->variant, "conv_reference");
    EXPECT_EQ(report.compared->differing, 0U);
    EXPECT_LT(report.compared->largest_difference, 1e-4);
    EXPECT_GT(report.compared->infer.median, 0);
    EXPECT_NE(to_json(report).find(R"("compared":{"variant":"conv_reference","rewrites":"none","infer":{)"),
              std::string::npos);
    EXPECT_NE(to_text(report).find("--rewrite none by conv_reference: infer "), std::string::npos);
    EXPECT_EQ(report.verdict.status, Verdict::Status::passed);
  }
  spec.compare = false;
  EXPECT_FALSE(report_on(1, spec, network.model, network.inputs[0]).compared);
}

TEST(ModelOnRanks, SharesOfAFixedBatchAreWholeBatches) {
  ModelBuilder builder;
  const ValueId x = builder.input({2, 3});
  const Model model = builder.finish({builder.add(Softmax{1}, {x})});
  testing::Rng rng(5);
  const Tensor images = testing::random_tensor(rng, {10, 3});
  const ModelReport alone = report_on(1, reference(), model, images);
  for (const int ranks : {2, 3, 6}) {
    const ModelReport report = report_on(ranks, reference(), model, images);
    EXPECT_TRUE(same_logit_bits(report.logits(), alone.logits())) << ranks;
    EXPECT_EQ(report.batch, 2U);
    EXPECT_EQ(static_cast<int>(report.ranks->images.max) % 2, 0);
    EXPECT_EQ(static_cast<int>(report.ranks->images.min), 5 / ranks * 2);
  }
}

/// The number of differing trials if the images of some ranks change in the second trial.
int differing_trials(const std::vector<int>& changing) {
  const ModelCase network = testing::small_network(3, 0.3, 4);
  const auto model = std::make_shared<const Model>(network.model);
  int differing = 0;
  const auto work = [&](Communicator& rank) {
    Tensor mine = images_from(network.inputs[0], 2 * static_cast<Index>(rank.place().rank), 2);
    const std::shared_ptr<float[]> values = allocate<float>(mine.values.size());
    std::copy(mine.values.begin(), mine.values.end(), values.get());
    mine.values = {values, mine.values.size()};
    const auto progress = [&](const ProgressUpdate& update) {
      const bool changes = std::find(changing.begin(), changing.end(), rank.place().rank) != changing.end();
      if (changes && update.done == model->nodes.size()) values[0] += 100;
    };
    const ModelOrder order{.variant = "conv_reference", .precision = Precision::fp64, .images = 4, .batch = 2};
    ModelRunOptions options;
    options.trials = 2;
    options.engine.threads = 1;
    options.progress = progress;
    const RankedModelResult all = run_model_on_ranks(rank, order, model, mine, options);
    if (rank.is_root()) differing = all.result.differing_trials;
  };
  for (const auto& thrown : testing::on_ranks(2, work)) EXPECT_EQ(thrown, nullptr);
  return differing;
}

TEST(ModelOnRanks, TrialsThatDifferAreCountedOnceOnWhicheverRank) {
  EXPECT_EQ(differing_trials({}), 0);
  EXPECT_EQ(differing_trials({0}), 1);
  EXPECT_EQ(differing_trials({1}), 1);
  EXPECT_EQ(differing_trials({0, 1}), 2);
}

/// An image takes a fifth of the available memory. Each of two ranks of a node may use half of that, hence two images
/// at a time; a single process takes four. Nothing is run.
TEST(ModelOnRanks, RanksOfANodeShareItsMemory) {
  const auto budget = static_cast<double>(memory_budget(Device::cpu, {}));
  const auto side = static_cast<Extent>(std::sqrt(0.2 * budget / 16));
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 1, 1});
  const ValueId large = builder.add(Resize{.size = {side, side}}, {x});
  const Model model = builder.finish({builder.add(GlobalPool{}, {large})});
  testing::Rng rng(3);
  const Tensor images = testing::random_tensor(rng, {8, 1, 1, 1});
  for (const auto& [ranks, batch] : {std::pair{1, 4U}, {2, 2U}}) {
    ModelSpec spec;
    spec.variant = "conv_reference";
    spec.threads = 1;
    spec.cancelled = [] { return true; };
    Index found = 0;
    const auto work = [&](Communicator& rank) {
      ModelInferenceOnRanks inference(spec, rank);
      load_and_plan(inference, rank, model, images);
      EXPECT_ANY_THROW(inference.run());
      if (rank.is_root()) found = inference.report().batch;
    };
    for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
    EXPECT_EQ(found, batch) << ranks << " ranks";
  }
}

/// Each output takes four gigabytes. The other rank waits for the root, and is cancelled.
TEST(ModelOnRanks, OutputsOfAllRanksThatTheRootDoesNotHoldAreRefused) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1, 1});
  const auto model =
      std::make_shared<const Model>(builder.finish({builder.add(Resize{.size = {1, Extent{1} << 30U}}, {x})}));
  const Tensor image = testing::make_tensor({1, 1, 1}, {1});
  bool refused = false;
  testing::on_ranks(2, [&](Communicator& rank) {
    const ModelOrder order{.variant = "conv_reference", .precision = Precision::fp64, .images = 4096, .batch = 1};
    ModelRunOptions options;
    options.engine.cancelled = [] { return true; };
    try {
      run_model_on_ranks(rank, order, model, image, options);
    } catch (const RanksFailed&) {
    } catch (const DeviceError&) {
      refused = rank.is_root();
      rank.barrier();
      rank.all(true, Communicator::Group::job);
    }
  });
  EXPECT_TRUE(refused);
}

TEST(ModelOnRanks, AFailureOfOneIsThatOfAll) {
  const ModelCase network = testing::small_network(4, 0.3, 6);
  const auto thrown = testing::on_ranks(3, [&](Communicator& rank) {
    ModelSpec spec = reference();
    if (rank.place().rank == 1) spec.cancelled = [] { return true; };
    ModelInferenceOnRanks inference(spec, rank);
    load_and_plan(inference, rank, network.model, network.inputs[0]);
    inference.run();
  });
  for (std::size_t rank = 0; rank < thrown.size(); ++rank) {
    ASSERT_NE(thrown[rank], nullptr) << rank;
    try {
      std::rethrow_exception(thrown[rank]);
    } catch (const RanksFailed& failed) {
      EXPECT_EQ(failed.own != nullptr, rank == 1) << rank;
    }
  }
}

TEST(ModelOnRanks, EveryOperationArrivesAsItWasSent) {
  Model model;
  model.name = "sent";
  Convolution convolution;
  convolution.weights = CsrMatrix{1,
                                  2,
                                  Array<Offset>(std::vector<Offset>{0, 2}),
                                  Array<Index>(std::vector<Index>{0, 1}),
                                  Array<float>(std::vector<float>{1, 2}),
                                  0};
  convolution.bias = {3};
  convolution.groups = 2;
  convolution.window = {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}};
  BatchNorm norm{{1}, {2}, {3}, {4}, 5};
  const Pool pool{Pool::Kind::average, {{2, 3}, {1, 1}, {1, 1}, {0, 0}, {0, 0}}, true, true};
  const Activation activation{Activation::Kind::prelu, 1, 2, 3, 4, {5, 6}};
  const Resize resize{Resize::Kind::linear, Resize::Place::align_corners, Resize::Rounding::up, {3, 4}, {0.5F, 2}};
  const std::vector<Operation> operations{convolution,
                                          Linear{convolution.weights, {7}},
                                          norm,
                                          pool,
                                          GlobalPool{Pool::Kind::max},
                                          activation,
                                          Elementwise{Elementwise::Kind::divide},
                                          Concat{2},
                                          Softmax{3},
                                          Reshape{{kBatchExtent, 4}},
                                          Transpose{{1, 0}},
                                          Pad{{1}, {-2}, 0.5F},
                                          resize};
  for (const Operation& operation : operations) model.nodes.push_back({"n", operation, {0, 1}, 2});
  model.values = {{"x", {kBatchExtent, 2}, {}}, {"c", {2}, testing::make_tensor({2}, {8, 9})}};
  model.inputs = {0};
  model.outputs = {2};
  std::shared_ptr<const Model> received;
  testing::on_ranks(2, [&](Communicator& rank) {
    const auto shared = share_model(rank, rank.is_root() ? std::make_shared<const Model>(model) : nullptr);
    if (!rank.is_root()) received = shared;
  });
  ASSERT_NE(received, nullptr);
  // Flattened again: the description has everything but the arrays, which are compared separately.
  const Parcel before = pack(model);
  const Parcel after = pack(*received);
  EXPECT_EQ(after.description, before.description);
  ASSERT_EQ(after.arrays.size(), before.arrays.size());
  for (std::size_t i = 0; i < before.arrays.size(); ++i)
    EXPECT_TRUE(std::equal(before.arrays[i].begin(), before.arrays[i].end(), after.arrays[i].begin()));
  const auto& sent = std::get<Resize>(received->nodes.back().operation);
  EXPECT_EQ(sent.size, resize.size);
  EXPECT_EQ(sent.rounding, resize.rounding);
  EXPECT_EQ(std::get<Convolution>(received->nodes.front().operation).window.pad_end, convolution.window.pad_end);
  EXPECT_EQ(std::get<Activation>(received->nodes[5].operation).alphas, activation.alphas);
  EXPECT_EQ(std::get<Pad>(received->nodes[11].operation).end, std::vector<Extent>{-2});
}

}  // namespace
}  // namespace spdnn
