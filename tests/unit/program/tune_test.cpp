// Kernels chosen by measured times, and predictions corrected by them.

#include "program/tune.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <string>
#include <thread>

#include "model/graph/magnitudes.hpp"
#include "program/choose.hpp"
#include "program/measured.hpp"
#include "program/request.hpp"
#include "support/models.hpp"

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
  EXPECT_EQ(program::compile(model, Magnitudes(model), 2, {.kernels = kernels}).actions.front().kernel, "promising");
  const program::Program program = tuned_with(kernels, {}).program;
  EXPECT_EQ(program.actions.front().kernel, "modest");
  EXPECT_EQ(program.actions.front().others.find("promising "), 0U);
  EXPECT_LT(program.actions.front().seconds, kLong * 1e-3);
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

}  // namespace
}  // namespace spdnn
