// Kernels chosen by measured times, and predictions corrected by them.

#include "program/tune.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "inference/model/compiled_program.hpp"
#include "model/graph/magnitudes.hpp"
#include "program/choose.hpp"
#include "program/measured.hpp"
#include "program/request.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using program::Kernels;
using program::Offer;
using program::Operands;
using program::Request;

/// A rectifier that sleeps as long as it likes, whatever it predicts.
class SleepyRelu final : public program::Kernel {
 public:
  /// `milliseconds` of the n-th time that it is bound, from 0 on.
  SleepyRelu(std::string_view name, double seconds, std::function<int(int)> milliseconds)
      : name_(name), seconds_(seconds), milliseconds_(std::move(milliseconds)) {}
  std::string_view name() const override { return name_; }
  std::vector<Offer> offers(const Request& request) const override {
    if (!std::holds_alternative<Activation>(request.node().operation)) return {};
    std::vector<Offer> all(1);
    all[0].detail = "sleepy, for 3 rows";
    all[0].inputs = {program::kRows};
    all[0].output = program::kRows;
    all[0].seconds = seconds_;
    all[0].bind = [this, count = elements(request.output_shape()).value()] {
      return program::bound([count, wait = milliseconds_(bound_++)](const Operands& at) {
        if (wait > 0) std::this_thread::sleep_for(std::chrono::milliseconds(wait));
        for (std::size_t i = 0; i < count; ++i) at.results()[i] = std::max(at.floats(0)[i], 0.F);
      });
    };
    return all;
  }

 private:
  std::string_view name_;
  double seconds_;
  std::function<int(int)> milliseconds_;
  mutable int bound_ = 0;
};

constexpr int kLong = 20;  // milliseconds, so that others on the machine hardly change which is the longer time

int always_long(int /*bound*/) { return kLong; }
int never_long(int /*bound*/) { return 0; }

Model one_relu() {
  testing::ModelBuilder builder;
  return builder.finish({builder.add(Activation{}, {builder.input({kBatchExtent, 3})})});
}

program::Tuned tuned_with(const Kernels& kernels, const Kernels& skipping) {
  const Model model = one_relu();
  return program::tuned(model, Magnitudes(model), 2, {.kernels = kernels}, skipping);
}

TEST(Tune, ChoosesByMeasuredTimes) {
  const SleepyRelu promising("promising", 1e-6, always_long);
  const SleepyRelu modest("modest", 5e-6, never_long);
  const Kernels kernels{&promising, &modest};
  const Model model = one_relu();
  const program::Program predicted = program::compile(model, Magnitudes(model), 2, {.kernels = kernels});
  EXPECT_EQ(predicted.actions.front().kernel, "promising");
  EXPECT_EQ(predicted.actions.front().others, "modest 5.0 us");
  const program::Program program = tuned_with(kernels, {}).program;
  EXPECT_EQ(program.actions.front().kernel, "modest");
  EXPECT_EQ(program.actions.front().others.find("promising "), 0U);
  EXPECT_LT(program.actions.front().seconds, kLong * 1e-3);
}

TEST(Tune, DescribesTheOtherKernelsAfterADetailIfThereIsOne) {
  const Model model = one_relu();
  program::Program program;
  program::Action& action = program.actions.emplace_back();
  action.step.node = 0;
  action.detail = "tiles";
  action.others = "modest 5.0 us";
  EXPECT_EQ(program::described(program, model).front().why, "tiles; others: modest 5.0 us");
  action.detail.clear();
  EXPECT_EQ(program::described(program, model).front().why, "others: modest 5.0 us");
}

TEST(Tune, MeasuresAKernelForEachNode) {
  testing::ModelBuilder builder;
  const ValueId first = builder.add(Activation{}, {builder.input({kBatchExtent, 3})});
  const Model model = builder.finish({first, builder.add(Activation{}, {first})});
  const SleepyRelu kernel("kernel", 1e-6, [](int bound) { return bound == 0 ? 0 : kLong; });
  const program::Program program = program::tuned(model, Magnitudes(model), 2, {.kernels = {&kernel}}, {}).program;
  ASSERT_EQ(program.actions.size(), 2U);
  EXPECT_LT(program.actions[0].seconds, kLong * 1e-3);
  EXPECT_GE(program.actions[1].seconds, kLong * 1e-3);
}

TEST(Tune, DoesNotMeasureTheHopeless) {
  const SleepyRelu good("good", 1e-6, never_long);
  const SleepyRelu hopeless("hopeless", 10, [](int /*bound*/) -> int { throw std::logic_error("was bound"); });
  EXPECT_EQ(tuned_with({&good, &hopeless}, {}).program.actions.front().kernel, "good");
}

/// A kernel that is slow in its program alone: the whole program that skips no zeros is faster.
TEST(Tune, IsNotSlowerThanSkippingNoZeros) {
  const SleepyRelu liar("liar", 1e-6, [](int bound) { return bound == 0 ? 0 : kLong; });
  const SleepyRelu honest("honest", 1e-6, [](int bound) { return bound == 0 ? kLong / 2 : 0; });
  const program::Program program = tuned_with({&liar, &honest}, {&liar}).program;
  EXPECT_EQ(program.actions.front().kernel, "honest");
  EXPECT_TRUE(program.remarks.back().ends_with("; the second is stored")) << program.remarks.back();
}

TEST(Tune, IsNotSlowerThanSkippingAllZeros) {
  const SleepyRelu skipping("skipping", 1e-6, [](int bound) { return bound == 0 ? kLong / 2 : 0; });
  const SleepyRelu liar("liar", 1e-6, [](int bound) { return bound == 0 ? 0 : kLong; });
  const program::Program program = tuned_with({&skipping, &liar}, {&skipping}).program;
  EXPECT_EQ(program.actions.front().kernel, "skipping");
  EXPECT_TRUE(program.remarks.back().ends_with("; the third is stored")) << program.remarks.back();
}

TEST(Tune, TellsHowMuchLongerThanPredictedKernelsTake) {
  const SleepyRelu relu("relu", kLong * 1e-4, always_long);
  const program::Calibration calibration = tuned_with({&relu}, {}).calibration;
  ASSERT_EQ(calibration.size(), 1U);
  EXPECT_GE(calibration.at("relu sleepy"), 10);
}

TEST(Calibration, IsOfAKernelAndTheBeginningOfItsDetail) {
  EXPECT_EQ(program::calibrated_name("sparse_conv", {.detail = "AVX2, tiles of 3 x 4 pixels"}), "sparse_conv AVX2");
  EXPECT_EQ(program::calibrated_name("plain_pool", {}), "plain_pool ");
}

TEST(Calibration, IsReadAsItWasWritten) {
  const program::Calibration calibration{{"sparse_conv AVX2", 0.75}, {"onednn_convolution jit:avx2", 1.5}};
  const std::string text = program::calibration_text(calibration);
  EXPECT_EQ(program::parsed_calibration(text), calibration);
  std::string other = text;
  other.insert(other.find("\"processor\",\"") + 13, "other ");
  EXPECT_TRUE(program::parsed_calibration(other).empty());
  for (std::size_t length = 0; length + 1 < text.size(); length += 7)
    EXPECT_TRUE(program::parsed_calibration(text.substr(0, length)).empty()) << length;
}

TEST(Calibration, KeepsFactorsOfKernelsThatWereNotMeasuredAgain) {
  const std::string older = program::calibration_text({{"sparse_conv AVX2", 0.75}, {"depthwise AVX2", 1.5}});
  const std::string newer = program::calibration_text({{"sparse_conv AVX2", 0.5}, {"plain_pool ", 2}});
  const program::Calibration merged{{"sparse_conv AVX2", 0.5}, {"depthwise AVX2", 1.5}, {"plain_pool ", 2}};
  EXPECT_EQ(program::parsed_calibration(program::merged_calibrations(older, newer)), merged);
  std::string of_another_machine = older;
  of_another_machine.insert(older.find("\"processor\",\"") + 13, "other ");
  for (const std::string& of_no_use : {std::string(), of_another_machine})
    EXPECT_EQ(program::merged_calibrations(of_no_use, newer), newer);
}

TEST(Calibration, OnlyFactorsThatCanBeBelievedAreTaken) {
  const std::string text = program::calibration_text({{"relu sleepy", 2}});
  const std::string whole = R"({"relu sleepy":2.0})";
  const std::size_t place = text.find(whole);
  ASSERT_NE(place, std::string::npos) << text;
  const auto parsed_with = [&](const std::string& factors) {
    return program::parsed_calibration(std::string(text).replace(place, whole.size(), factors));
  };
  for (const char* const factors : {"5", "[1,2]", "null", "\"1\"", "{}"})
    EXPECT_TRUE(parsed_with(factors).empty()) << factors;
  const program::Calibration believed{{"a", 0.01}, {"b", 100}};
  EXPECT_EQ(parsed_with(R"({"a":0.01,"b":100,"c":0.0099,"d":100.1,"e":1e308,"f":-1,"g":0,"h":"2","i":[2]})"), believed);
}

TEST(Calibration, IsKeptInAFileUnlessThatCannotBeReplaced) {
  const TemporaryDirectory directory;
  const std::string first = program::calibration_text({{"first", 2}});
  const std::string second = program::calibration_text({{"second", 3}});
  const auto file = directory / "cache" / "calibration.json";
  EXPECT_EQ(program::calibration_file_text(file), "");
  EXPECT_EQ(keep_calibration(file, first), "");
  EXPECT_EQ(keep_calibration(file, second), "");
  const program::Calibration both{{"first", 2}, {"second", 3}};
  EXPECT_EQ(program::parsed_calibration(program::calibration_file_text(file)), both);

  EXPECT_EQ(keep_calibration({}, first), "there is no cache directory");
  EXPECT_EQ(keep_calibration(file / "calibration.json", first),
            (file / "calibration.json").string() + ": cannot write: Not a directory");
  const auto folder = directory / "folder.json";
  std::filesystem::create_directory(folder);
  EXPECT_EQ(program::calibration_file_text(folder), "");
  EXPECT_EQ(keep_calibration(folder, first), folder.string() + ": cannot write: Is a directory");
  const auto pipe = directory / "pipe.json";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(program::calibration_file_text(pipe), "");
  EXPECT_EQ(keep_calibration(pipe, first), pipe.string() + ": is a pipe or device, expected a regular file");
}

/// Two that tune at the same time, each with one new factor at a time: none is lost.
TEST(Calibration, FactorsOfTwoProgramsAreAllKept) {
  constexpr int kFactors = 20;
  const TemporaryDirectory directory;
  const auto file = directory / "calibration.json";
  const auto keep_all = [&](const std::string& name) {
    for (int i = 0; i < kFactors; ++i)
      keep_calibration(file, program::calibration_text({{name + std::to_string(i), 2}}));
  };
  std::thread other(keep_all, "other");
  keep_all("one");
  other.join();
  EXPECT_EQ(program::parsed_calibration(program::calibration_file_text(file)).size(), 2 * kFactors);
}

}  // namespace
}  // namespace spdnn
