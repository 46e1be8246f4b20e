// Models that `infer` takes, and which of their outputs it gives.

#include "inference/model/runnable.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "inference/model/run.hpp"
#include "inference/model/run_report.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

TEST(RunnableModels, HaveOneInputOfImagesAndAnOutputOfThem) {
  const auto why_not = [](const Shape& input, const std::optional<Operation>& operation) {
    ModelBuilder builder;
    ValueId x = builder.input(input);
    if (operation) x = builder.add(*operation, {x});
    return why_not_runnable(builder.finish({x}));
  };
  const Operation relu = testing::make_activation(Activation::Kind::relu);
  EXPECT_EQ(why_not({kBatchExtent, 2}, relu), "");
  EXPECT_EQ(why_not({kBatchExtent, 2}, {}), "") << "the input itself";
  EXPECT_EQ(why_not({3, 2}, relu), "");
  EXPECT_EQ(why_not({}, relu), "\"input0\" has no axes, expected images on axis 0");
  EXPECT_EQ(why_not({0, 2}, relu), "the input \"input0\" is 0 x 2: no images");
  EXPECT_EQ(why_not({1, 1}, Reshape{{}}), "\"value1\" has no axes, expected images on axis 0");
  EXPECT_EQ(why_not({4, 3}, Transpose{{1, 0}}),
            "the output \"value1\" is 3 x 4 for images of 4 x 3, expected as many of them on axis 0");
  EXPECT_EQ(why_not_runnable(Model{}), "the model has 0 inputs, expected one");
  ModelBuilder silent;
  silent.input({kBatchExtent, 2});
  Model model = silent.finish({});
  EXPECT_EQ(why_not_runnable(model), "the model has no output");
}

/// The first output is none of the images; either of the others does.
TEST(RunnableModels, GiveTheOutputsThatAreOfTheImages) {
  ModelBuilder builder;
  const ValueId x = builder.input({4, 3});
  const ValueId turned = builder.add(Transpose{{1, 0}}, {x});
  const ValueId kept = builder.add(testing::make_activation(Activation::Kind::relu), {x});
  const ValueId other = builder.add(testing::make_activation(Activation::Kind::tanh), {x});
  const Model model = builder.finish({turned, kept, other});
  EXPECT_EQ(why_not_runnable(model), "");
  const std::string reason = "the output \"value1\" is 3 x 4 for images of 4 x 3, expected as many of them on axis 0";
  Model all = model;
  std::vector<std::string> notes;
  choose_outputs(all, {}, notes);
  EXPECT_EQ(all.outputs, (std::vector<ValueId>{kept, other}));
  EXPECT_EQ(notes, std::vector<std::string>{reason + ": left out"});
  Model named = model;
  notes.clear();
  choose_outputs(named, {"value3", "value2"}, notes);
  EXPECT_EQ(named.outputs, (std::vector<ValueId>{other, kept}));
  EXPECT_TRUE(notes.empty());
  EXPECT_EQ(testing::message_of<DataError>([&] { choose_outputs(named = model, {"value1"}, notes); }), reason);
}

/// One trial of one batch, or several; an engine that does not time nodes.
TEST(RunModel, TrialsThatDifferAndTimesThatAreNotThereAreSaid) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  const Model model = builder.finish({builder.add(testing::make_activation(Activation::Kind::relu), {x})});
  const auto notes = [&](int differing, bool profile) {
    ModelReport report;
    report.variant = "v";
    report.outputs = {{"y", {kBatchExtent, 2}, {}}};
    RankedModelResult all;
    all.result.outputs = {make_tensor({1, 2}, {1, 2})};
    all.result.infer_seconds = {1};
    all.result.differing_trials = differing;
    ModelSpec spec;
    spec.profile = profile;
    record_run(std::move(all), model, spec, report);
    return report.notes;
  };
  using Notes = std::vector<std::string>;
  EXPECT_EQ(notes(0, false), Notes{});
  EXPECT_EQ(notes(1, false), Notes{"1 batch of a trial gave results that differ from the first trial's"});
  EXPECT_EQ(notes(2, false), Notes{"2 batches of trials gave results that differ from the first trial's"});
  EXPECT_EQ(notes(0, true), Notes{"v cannot time single nodes"});
}

TEST(RunModel, TheFirstOfTwoNodesIsTheOneThatIsThere) {
  EXPECT_EQ(first_node({}, {}), std::nullopt);
  EXPECT_EQ(first_node(3, {}), 3U);
  EXPECT_EQ(first_node({}, 0), 0U);
  EXPECT_EQ(first_node(3, 5), 3U);
  EXPECT_EQ(first_node(5, 3), 3U);
}

}  // namespace
}  // namespace spdnn
