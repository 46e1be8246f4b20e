// Options of benchmarks become those of the measurements, each its own.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "core/text/json_text.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/commands.hpp"
#include "support/message_of.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Arguments;
using testing::joined;

class BenchOptions : public ::testing::Test {
 protected:
  /// The fields of each line that the command writes.
  std::string lines_of(const Arguments& arguments, const std::vector<const char*>& fields) const {
    testing::run_command("bench", joined(arguments, {"--json", json_}));
    std::istringstream lines(text_of_file(json_));
    std::string text;
    for (std::string line; std::getline(lines, line);) {
      const Json parsed = parse_json(line);
      for (const char* const field : fields) {
        const std::string value = json_line(parsed[field]);
        text += value.substr(0, value.size() - 1) + " ";
      }
      text.back() = ';';
    }
    return text;
  }
  /// `spdnn report` writes this table as CSV if it is not asked for another.
  void expect_default_table(const char* table) const {
    const std::string usual = testing::run_command("report", {json_, "--format", "csv"}).out;
    EXPECT_EQ(usual, testing::run_command("report", {json_, "--format", "csv", "--table", table}).out);
    EXPECT_NE(usual, "");
  }
  static std::string refused(const Arguments& arguments) {
    return testing::message_of<UsageError>([&] { testing::run_command("bench", arguments); });
  }

  TemporaryDirectory directory_;
  std::string json_ = (directory_ / "lines.jsonl").string();
};

TEST_F(BenchOptions, OfLayersAreThoseOfTheMeasurements) {
  const Arguments layers{"layers",   "--neurons", "64,32",    "--degrees",  "4,32",      "--alive", "1,0.5",
                         "--layers", "3",         "--images", "40",         "--trials",  "2",       "--seconds",
                         "20",       "--weights", "distinct", "--variants", "cpu_openmp"};
  EXPECT_EQ(lines_of(layers, {"variant", "precision", "neurons", "degree", "weights", "layers", "images", "trials"}),
            R"("cpu_openmp" "fp32" 64 4 "distinct" 3 40 2;"cpu_openmp" "fp32" 64 4 "distinct" 3 20 2;)"
            R"("cpu_openmp" "fp32" 64 32 "distinct" 3 40 2;"cpu_openmp" "fp32" 64 32 "distinct" 3 20 2;)"
            R"("cpu_openmp" "fp32" 32 4 "distinct" 3 40 2;"cpu_openmp" "fp32" 32 4 "distinct" 3 20 2;)"
            R"("cpu_openmp" "fp32" 32 32 "distinct" 3 40 2;"cpu_openmp" "fp32" 32 32 "distinct" 3 20 2;)");
  expect_default_table("layers");
  EXPECT_EQ(refused({"layers", "--neurons", "32", "--degrees", "33"}), "--degrees: 33 is more than 32 neurons");
  EXPECT_EQ(refused({"layers", "--seconds", "-1"}), "--seconds: -1 is negative");
  for (const char* const share : {"0", "1.01", "-1"})
    EXPECT_EQ(refused({"layers", "--alive", share}), fmt::format("--alive: {} is outside (0, 1]", share));
  EXPECT_EQ(refused({"layers", "--weights", "many"}), "--weights: 'many' is neither constant nor distinct");
}

TEST_F(BenchOptions, OfModelsAreThoseOfTheMeasurements) {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3});
  const ValueId sums = builder.add(Linear{testing::make_matrix(3, {{{0, 1.F}}, {{2, 1.F}}}), {}}, {x});
  const std::string model = (directory_ / "m.onnx").string();
  write_model(model, builder.finish({builder.add(BatchNorm{{2, 2}, {0, 0}, {0, 0}, {1, 1}, 0}, {sums})}));
  const Arguments bench{"model", model, "--batch", "3,1", "--threads", "1", "--runs", "2", "--warm-up", "0"};
  const std::vector<const char*> fields{"variant", "precision", "batch", "runs"};
  EXPECT_EQ(lines_of(joined(bench, {"--variant", "conv_dense"}), fields),
            R"("conv_dense" "fp32" 3 2;"conv_dense" "fp32" 1 2;)");
  EXPECT_EQ(lines_of(joined(bench, {"--variant", "conv_reference", "--precision", "fp64"}), fields),
            R"("conv_reference" "fp64" 3 2;"conv_reference" "fp64" 1 2;)");
  expect_default_table("model-times");
  const auto nodes = [&](const Arguments& options) {
    lines_of(joined({"model", model, "--threads", "1", "--runs", "1", "--warm-up", "0", "--layers"}, options), {});
    return parse_json(text_of_file(json_))["layers"].size();
  };
  EXPECT_EQ(nodes({}), 1U) << "the norm is folded";
  EXPECT_EQ(nodes({"--rewrite", "none"}), 2U);
  EXPECT_EQ(refused(joined(bench, {"--seconds", "-1"})), "--seconds: -1 is negative");
  EXPECT_EQ(refused(joined({"model", model}, {"--warm-up", "-1"})), "--warm-up: -1 is negative");
  EXPECT_EQ(refused(joined(bench, {"--with", "x"})), "--with: 'x' is none of onnxruntime");
}

/// Layers that are not pruned come once, whatever shares there are.
TEST_F(BenchOptions, OfConvolutionsAreThoseOfTheMeasurements) {
  const Arguments conv{"conv", "--table",   "mobilenet", "--layer", "1024x7x7", "--threads", "1",     "--runs",
                       "1",    "--warm-up", "0",         "--with",  "none",     "--kernels", "sparse"};
  const std::vector<const char*> fields{"table", "layer", "sparsity", "input_sparsity", "batch", "variant", "runs"};
  EXPECT_EQ(lines_of(joined(conv, {"--sparsity", "0.9,0.75", "--input-sparsity", "0.25", "--batch", "2"}), fields),
            R"("mobilenet" "1024x7x7 3x3 -> 1024 depthwise" 0.0 0.25 2 "sparse" 1;)"
            R"("mobilenet" "1024x7x7 1x1 -> 1024" 0.9 0.25 2 "sparse" 1;)"
            R"("mobilenet" "1024x7x7 1x1 -> 1024" 0.75 0.25 2 "sparse" 1;)");
  expect_default_table("conv-times");
  const auto refused_conv = [&](const Arguments& options) { return refused(joined(conv, options)); };
  EXPECT_EQ(refused_conv({"--sparsity", "0.5,1"}), "--sparsity: 1 is outside [0, 1)");
  EXPECT_EQ(refused_conv({"--input-sparsity", "-0.5"}), "--input-sparsity: -0.5 is outside [0, 1)");
  EXPECT_EQ(refused_conv({"--ablate", "hints"}), "--ablate: conv_generated runs with --device cuda alone");
  EXPECT_EQ(refused({"conv", "--table", "mobilenet", "--layer", "7x1024"}),
            "--layer: table mobilenet has no layer with '7x1024' in its name");
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--with: 'x' is not one of ",
                      refused({"conv", "--table", "mobilenet", "--with", "fp32,x"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--kernels: 'x' is not one of ",
                      refused({"conv", "--table", "mobilenet", "--kernels", "x"}));
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "--table is missing: expected one of ", refused({"conv"}));
}

/// The launcher writes down what it is to start, and fails.
TEST_F(BenchOptions, OfScalingAreThoseOfTheRunsThatAreLaunched) {
  const std::string launched = (directory_ / "launched").string();
  const std::string launcher = (directory_ / "launch").string();
  std::ofstream(launcher) << "echo \"$*\" >" << launched << "\nexit 1\n";
  const auto command = [&](const Arguments& options) {
    const Arguments all = joined(
        {"scaling", "--launcher", "sh " + launcher + " {ranks}", "--scratch", directory_.path().string()}, options);
    EXPECT_THROW(testing::run_command("bench", all), Error);
    const std::string words = std::regex_replace(text_of_file(launched), std::regex(R"([^ ]*/\.spdnn[^ ]*/)"), "");
    return std::regex_replace(words, std::regex("^([0-9]+) [^ ]+"), "$1 spdnn");
  };
  const std::string usual = command({"--ranks", "3", "--images", "20"});
  EXPECT_EQ(
      usual,
      "3 spdnn infer --generate official --neurons 1024 --layers 120 --inputs images.spdnn --reduce all --device auto "
      "--variant auto --trials 5 --json run.json --progress never\n");
  const std::string other =
      command({"--ranks", "2", "--images", "20", "--neurons", "4096", "--layers", "7", "--reduce", "dead", "--device",
               "cpu", "--variant", "cpu_openmp", "--threads", "3", "--trials", "4", "--share-devices"});
  EXPECT_EQ(
      other,
      "2 spdnn infer --generate official --neurons 4096 --layers 7 --inputs images.spdnn --reduce dead --device cpu "
      "--variant cpu_openmp --trials 4 --threads 3 --share-devices --json run.json --progress never\n");
  EXPECT_EQ(refused({"scaling", "--kind", "sideways"}), "--kind: 'sideways' is neither strong nor weak");
}

}  // namespace
}  // namespace spdnn
