#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "inference/model/load.hpp"
#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"

namespace spdnn {
namespace {

TEST(ModelSpec, NumbersOfTrialsThatAreNoneAreRefused) {
  for (const int trials : {0, -1}) {
    ModelSpec spec;
    spec.trials = trials;
    EXPECT_THROW(ModelInference{spec}, UsageError) << trials;
  }
  ModelSpec spec;
  spec.warm_up = -1;
  EXPECT_THROW(ModelInference{spec}, UsageError);
  spec.warm_up = 0;
  EXPECT_NO_THROW(ModelInference{spec});
}

TEST(ModelSpec, AnAccuracyIsAskedForOfLabelsAndIsAShareAboveNone) {
  ModelSpec spec;
  spec.truth.min_accuracy = 0.5;
  const auto problem = [&] { return testing::message_of<UsageError>([&] { ModelInference{spec}; }); };
  EXPECT_EQ(problem(), "min_accuracy: needs labels");
  spec.truth.labels = "labels.txt";
  EXPECT_NO_THROW(ModelInference{spec});
  for (const double beyond : {0.0, -0.5, 1.01, std::nan("")}) {
    spec.truth.min_accuracy = beyond;
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, "expected more than 0, which any labels reach, and at most 1",
                        problem());
  }
}

TEST(ModelInputs, StepsOfPreprocessingThatDoNotGoTogetherAreRefused) {
  const Model model = testing::small_network(1, 0.5).model;
  const auto refused = [&](const auto& change) {
    ModelInputs inputs;
    inputs.path = "absent.npy";
    change(inputs);
    return testing::message_of<Error>([&] { load_model_images(inputs, model); });
  };
  using In = ModelInputs;
  const std::string mean = "mean: does not go with subtract and divide";
  const std::string deviation = "std: does not go with subtract and divide";
  EXPECT_EQ(refused([](In& in) { in.mean = {1}, in.subtract = {1}; }), mean);
  EXPECT_EQ(refused([](In& in) { in.mean = {1}, in.divide = {1}; }), mean);
  EXPECT_EQ(refused([](In& in) { in.mean = {1}, in.deviation = {1}, in.divide = {1}; }), mean);
  EXPECT_EQ(refused([](In& in) { in.deviation = {1}, in.subtract = {1}; }), deviation);
  EXPECT_EQ(refused([](In& in) { in.deviation = {1}, in.divide = {1}; }), deviation);
  EXPECT_EQ(refused([](In& in) { in.pictures = {"a.png"}; }), "inputs: give either a path or pictures");
  EXPECT_EQ(refused([](In& in) { in.path = "", in.pictures = {"a.png"}, in.table = "t.npy"; }),
            "table: does not go with pictures");
  EXPECT_EQ(refused([](In& in) { in.path = "", in.pictures = {"absent.png"}; }).find("table"), std::string::npos);
  EXPECT_EQ(refused([](In& in) { in.table = "t.npy"; }), "t.npy: cannot read: No such file or directory");
}

TEST(ModelReportText, NamesOfFilesCannotControlATerminal) {
  ModelReport report;
  report.model = "red\x1b[31m.onnx";
  report.profile = {{"conv\n1", "convolution", 1.0}};
  const std::string text = to_text(report);
  EXPECT_NE(text.find("red\\x1b[31m.onnx"), std::string::npos) << text;
  EXPECT_NE(text.find("conv\\x0a1"), std::string::npos) << text;
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace spdnn
