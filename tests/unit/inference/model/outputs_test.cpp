// Models of several outputs, such as detectors: the outputs of a run, and its verdict, which covers all of them.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "inference/model/accuracy.hpp"
#include "inference/model/verify.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "support/refusal.hpp"

namespace spdnn {
namespace {

using testing::make_tensor;
using testing::ModelBuilder;

/// Images of two numbers: boxes, four times these; scores, their softmax; priors, the same for all images.
class OutputsOfADetector : public ::testing::Test {
 protected:
  OutputsOfADetector() {
    ModelBuilder builder;
    const ValueId x = builder.input({kBatchExtent, 2});
    const ValueId four = builder.constant(make_tensor({1, 2}, {4, 4}));
    const ValueId boxes = builder.add(Elementwise{Elementwise::Kind::multiply}, {x, four});
    const ValueId scores = builder.add(Softmax{1}, {x});
    model_ = builder.finish({four, boxes, scores});
    model_.values[four].name = "priors";
    model_.values[boxes].name = "boxes";
    model_.values[scores].name = "scores";
    spec_.truth.everything = true;
  }

  ModelReport report() const {
    ModelInference inference(spec_);
    inference.load(model_, images_);
    inference.plan();
    inference.run();
    inference.verify();
    return inference.report();
  }
  static std::vector<std::string> names(const ModelReport& report) {
    std::vector<std::string> names;
    for (const ModelOutput& output : report.outputs) names.push_back(output.name);
    return names;
  }

  Model model_;
  Tensor images_ = make_tensor({3, 2}, {1, 2, 3, 5, 8, 8});
  ModelSpec spec_;
};

using Names = std::vector<std::string>;

TEST_F(OutputsOfADetector, AreAllThatAreOfTheImages) {
  spec_.batch = 2;  // the batches' outputs are joined
  const ModelReport report = this->report();
  EXPECT_EQ(names(report), (Names{"boxes", "scores"}));
  EXPECT_EQ(report.verdict.status, Verdict::Status::passed) << report.verdict.against;
  EXPECT_EQ(report.outputs[0].values.shape, (Shape{3, 2}));
  EXPECT_EQ(report.outputs[0].values.values[5], 32.F);
  EXPECT_EQ(report.outputs[1].values.values[5], 0.5F);
  const auto noted = [&](const std::string& note) {
    return std::count(report.notes.begin(), report.notes.end(), note);
  };
  EXPECT_EQ(noted("the output \"priors\" does not depend on the images: left out"), 1);
  EXPECT_NE(to_text(report).find("N x 2 to boxes N x 2, scores N x 2"), std::string::npos);
  EXPECT_NE(to_json(report).find(R"("named_outputs":[{"name":"boxes","shape":["N",2]},{"name":"scores")"),
            std::string::npos);
}

TEST_F(OutputsOfADetector, HaveNoClassesWhereTheyAreImages) {
  ModelBuilder builder;
  model_ = builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 1, 2, 2})})});
  images_ = make_tensor({1, 1, 2, 2}, {1, 2, 3, 4});
  const ModelReport report = this->report();
  EXPECT_EQ(report.classes, 0U);
  EXPECT_TRUE(report.predictions.empty());
  const std::string none = "the model's output is N x 1 x 2 x 2, which is not a list of classes";
  spec_.truth.label_list = {0};
  EXPECT_EQ(testing::message_of<UsageError>([&] { this->report(); }), "labels: " + none);
  spec_.truth.label_list.reset();
  spec_.names = "names.txt";
  EXPECT_EQ(testing::message_of<UsageError>([&] { this->report(); }), "names: " + none);
}

TEST_F(OutputsOfADetector, AreThoseThatAreNamed) {
  spec_.outputs = {"scores"};
  const ModelReport one = report();
  EXPECT_EQ(names(one), Names{"scores"});
  EXPECT_EQ(one.score, "probability");
  EXPECT_EQ(one.nodes_run, 1U) << "the nodes of other outputs are not run";
  spec_.outputs = {"scores", "boxes"};
  EXPECT_EQ(names(report()), (Names{"scores", "boxes"}));
  const auto refused = [&](const Names& outputs, const std::string& message) {
    spec_.outputs = outputs;
    try {
      report();
      ADD_FAILURE() << message;
    } catch (const Error& error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  refused({"score"}, "output: the model has no output 'score', but priors, boxes, scores");
  refused({"boxes", "boxes"}, "output: 'boxes' is named twice");
  refused({"priors"}, "the output \"priors\" does not depend on the images");
}

/// One wrong number in any output fails the run, and the report names the output.
TEST_F(OutputsOfADetector, AreAllCompared) {
  spec_.truth.everything = false;
  const ModelReport right = report();
  const auto given = [&](int wrong) {
    std::vector<NamedTensor> expected;
    for (int i = 1; i >= 0; --i) {  // in another order than the model's
      const ModelOutput& output = right.outputs[static_cast<std::size_t>(i)];
      std::vector<float> values(output.values.values.begin(), output.values.values.end());
      if (i == wrong) values[3] += 0.01F;
      expected.push_back({output.name, make_tensor(output.values.shape, values)});
    }
    return expected;
  };
  spec_.truth.expected_outputs = given(-1);
  EXPECT_EQ(report().verdict.status, Verdict::Status::passed);
  for (const int wrong : {0, 1}) {
    spec_.truth.expected_outputs = given(wrong);
    const ModelReport report = this->report();
    const std::string name = wrong == 0 ? "boxes" : "scores";
    EXPECT_EQ(report.verdict.status, Verdict::Status::failed) << name;
    EXPECT_EQ(report.expected->worst().name, name);
    EXPECT_EQ(report.expected->outside + report.expected->beyond, 1U);
    EXPECT_EQ(report.expected->first_ids, std::vector<Index>{2});
    EXPECT_NE(report.verdict.against.find("(output " + name + " of 2)"), std::string::npos) << report.verdict.against;
    EXPECT_EQ(report.expected->outputs[static_cast<std::size_t>(1 - wrong)].largest_deviation, 0);
  }
}

TEST_F(OutputsOfADetector, ExpectedOnesHaveTheirNamesAndAsManyRows) {
  const auto refused = [&](const std::vector<NamedTensor>& expected, const std::string& message) {
    spec_.truth.expected_outputs = expected;
    try {
      report();
      ADD_FAILURE() << message;
    } catch (const DataError& error) {
      EXPECT_EQ(error.what(), message);
    }
  };
  const Tensor three = make_tensor({3, 2}, {1, 2, 3, 4, 5, 6});
  refused({{"", three}}, "expected: no array 'boxes'; the outputs are boxes, scores");
  refused({{"boxes", three}}, "expected: no array 'scores'; the outputs are boxes, scores");
  refused({{"boxes", three}, {"scores", make_tensor({4, 2}, {1, 2, 3, 4, 5, 6, 7, 8})}},
          "expected: scores: 4 rows, expected 3, as \"boxes\" has");
  refused({{"boxes", three}, {"scores", make_tensor({2, 2}, {1, 2, 3, 4})}},
          "expected: scores: 2 rows, expected 3, as \"boxes\" has");
  refused({{"boxes", three}, {"scores", make_tensor({2, 3}, {1, 2, 3, 4, 5, 6})}},
          "expected: scores: an array of 2 x 3, expected N x 2, for at least one image");
  spec_.outputs = {"boxes"};
  refused({{"scores", three}}, "expected: no array 'boxes'; the outputs are boxes");
  refused({{"", three}, {"", three}}, "expected: no array 'boxes'; the outputs are boxes");
}

/// Node by node, the outputs of the reported run are compared with those of the run that keeps every output.
TEST_F(OutputsOfADetector, AreAllComparedNodeByNode) {
  spec_.outputs = {"boxes", "scores"};
  ModelReport report = this->report();
  EXPECT_EQ(report.nodes_checked->largest_difference, 0);
  Model given = model_;
  given.outputs = {model_.outputs[1], model_.outputs[2]};
  for (const std::size_t output : {0U, 1U}) {
    std::vector<ModelOutput> outputs = report.outputs;
    std::vector<float> values(outputs[output].values.values.begin(), outputs[output].values.values.end());
    values[4] += 1;
    outputs[output].values = make_tensor({3, 2}, values);
    const NodeCheck check = check_nodes(find_model_variant("conv_reference"), given, images_, 3, outputs,
                                        {.precision = Precision::fp64}, {});
    EXPECT_NEAR(check.largest_difference, 1, 1e-5) << output;
  }
}

/// Whichever output it is that differs most; predictions are those of the first.
TEST(DifferenceOfRuns, IsTheLargestOfAllOutputs) {
  const auto difference = [](const Tensor& first, const Tensor& second) {
    ModelReport report;
    report.classes = 2;
    report.outputs = {{"a", {3, 2}, make_tensor({3, 2}, {1, 0, 0, 1, 1, 0})},
                      {"b", {3, 1}, make_tensor({3, 1}, {0, 0, 0})}};
    report.predictions = predictions_of(report.outputs[0].values);
    return difference_from(report, "other", {first, second});
  };
  const Tensor same = make_tensor({3, 2}, {1, 0, 0, 1, 1, 0});
  const Tensor turned = make_tensor({3, 2}, {1, 0, 4, 1, 0, 1});
  const Tensor zeros = make_tensor({3, 1}, {0, 0, 0});
  const Tensor off = make_tensor({3, 1}, {0, -2, 1});
  EXPECT_EQ(difference(same, zeros).largest_difference, 0);
  EXPECT_EQ(difference(same, zeros).differing, 0U);
  EXPECT_EQ(difference(same, zeros).variant, "other");
  EXPECT_EQ(difference(turned, zeros).largest_difference, 4);
  EXPECT_EQ(difference(turned, off).largest_difference, 4);
  EXPECT_EQ(difference(turned, off).differing, 2U);
  EXPECT_EQ(difference(same, off).largest_difference, 2);
  EXPECT_EQ(difference(same, make_tensor({3, 1}, {0, std::nanf(""), 1})).largest_difference, HUGE_VAL);
}

/// Labels among the five largest of seven, ties by the lower number; of five classes only the largest counts.
TEST(AccuracyOfLogits, CountsLabelsAmongTheLargest) {
  const Tensor seven = make_tensor({2, 7}, {7, 6, 5, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1});
  const auto among = [&](Index first, Index second) {
    const Accuracy found = accuracy_of(seven, {first, second});
    EXPECT_EQ(found.images, 2U);
    EXPECT_EQ(found.classes, 5U);
    return std::pair(found.correct, found.among);
  };
  EXPECT_EQ(among(0, 0), std::pair(Index{2}, Index{2}));
  EXPECT_EQ(among(4, 4), std::pair(Index{0}, Index{2}));
  EXPECT_EQ(among(5, 4), std::pair(Index{0}, Index{1}));
  EXPECT_EQ(among(5, 5), std::pair(Index{0}, Index{0}));
  const Accuracy of_five = accuracy_of(make_tensor({1, 5}, {1, 2, 3, 4, 5}), {3});
  EXPECT_EQ(of_five.classes, 1U);
  EXPECT_EQ(of_five.among, 0U);
  EXPECT_EQ(accuracy_of(make_tensor({1, 2}, {std::nanf(""), 1}), {1}).correct, 0U) << "nothing is known";
}

TEST(OutputNames, AreUniqueAndNotEmpty) {
  ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 2});
  std::vector<ValueId> outputs;
  for (int i = 0; i < 3; ++i) outputs.push_back(builder.add(Activation{}, {x}));
  Model model = builder.finish(outputs);
  model.values[outputs[0]].name = "y";
  model.values[outputs[1]].name = "";
  model.values[outputs[2]].name = "y";
  EXPECT_EQ(output_names(model), (Names{"y", "output_2", "y_3"}));
}

}  // namespace
}  // namespace spdnn
