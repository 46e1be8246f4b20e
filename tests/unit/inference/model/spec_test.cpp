#include <gtest/gtest.h>

#include <string>

#include "spdnn/error.hpp"
#include "spdnn/model_inference.hpp"

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
