// The state of a CUDA device while trials run, with a test double of NVML, and without NVML.

#include "inference/device/device_monitor.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <filesystem>

#include "inference/run/run.hpp"
#include "support/battery.hpp"
#include "support/networks.hpp"
#include "support/recording_engine.hpp"

namespace spdnn {
namespace {

constexpr const char* kId = "00112233445566778899aabbccddeeff";
/// Samples at begin and end alone, and reports the energy of any duration.
constexpr DeviceMonitor::Rates kAtBothEnds{std::chrono::hours(1), 0.0};

/// The fake is built beside the tests. Opened anew, it begins to count anew.
std::unique_ptr<const Nvml> fake(const std::string& id = kId) {
  return Nvml::open(id, std::filesystem::read_symlink("/proc/self/exe").parent_path() / "fake_nvml.so");
}

/// Its SM clock is the number of queries.
class CountingNvml final : public Nvml {
 public:
  mutable std::atomic<int> samples = 0;

  std::optional<double> sm_clock_mhz() const override { return ++samples; }
  std::optional<double> memory_clock_mhz() const override { return {}; }
  std::optional<double> temperature_c() const override { return {}; }
  std::optional<double> power_w() const override { return {}; }
  std::optional<double> energy_j() const override { return {}; }
};

TEST(Nvml, TellsOfTheDeviceWithTheIdAndIsEmptyWhereTheDriverIsSilent) {
  const auto nvml = fake();
  ASSERT_NE(nvml, nullptr);
  EXPECT_EQ(nvml->sm_clock_mhz(), 1000.0);
  EXPECT_EQ(nvml->memory_clock_mhz(), std::nullopt);
  EXPECT_EQ(nvml->temperature_c(), 41.0);
  EXPECT_EQ(nvml->power_w(), 100.0);
  EXPECT_EQ(nvml->energy_j(), 7e9);
  EXPECT_NE(fake("ffeeddccbbaa99887766554433221100"), nullptr) << "a part of a device";
}

TEST(Nvml, IsNoErrorWhereThereIsNoLibraryOrNoSuchDevice) {
  EXPECT_EQ(Nvml::open(kId, "libno-such-library.so.1"), nullptr);
  EXPECT_EQ(Nvml::open(kId, "libm.so.6"), nullptr) << "a library of something else";
  EXPECT_EQ(fake("00112233445566778899aabbccddee00"), nullptr);
  EXPECT_EQ(fake(""), nullptr);
}

TEST(DeviceMonitor, SamplesAtBothEndsOfEachBatchAndAddsTheEnergyUp) {
  DeviceMonitor monitor(fake(), kAtBothEnds);
  for (int batch = 0; batch < 2; ++batch) {
    monitor.begin();
    monitor.end(4);
  }
  const DeviceState state = monitor.state();
  ASSERT_TRUE(state.sm_clock_mhz && state.temperature_c && state.power_w);
  EXPECT_EQ(state.sm_clock_mhz->min, 1000);
  EXPECT_EQ(state.sm_clock_mhz->median, 1150);
  EXPECT_EQ(state.sm_clock_mhz->max, 1300);
  EXPECT_EQ(state.temperature_c->max, 41);
  EXPECT_EQ(state.power_w->max, 251.5);
  EXPECT_FALSE(state.memory_clock_mhz);
  EXPECT_EQ(state.joules_per_trial, 3.0) << "6 J of each batch, over four trials";
}

TEST(DeviceMonitor, TellsNoEnergyOfATimeTooShortForTheCounter) {
  DeviceMonitor monitor(fake(), {std::chrono::hours(1), 3600.0});
  monitor.begin();
  EXPECT_TRUE(monitor.wants_more());
  monitor.end(1);
  EXPECT_EQ(monitor.state().joules_per_trial, std::nullopt);
}

TEST(DeviceMonitor, SamplesInBetweenAsWell) {
  auto counting = std::make_unique<CountingNvml>();
  const CountingNvml& asked = *counting;
  DeviceMonitor monitor(std::move(counting), {std::chrono::milliseconds(1), 0.0});
  monitor.begin();
  while (asked.samples < 5) ::usleep(1000);
  EXPECT_FALSE(monitor.wants_more()) << "there is no counter of energy";
  monitor.end(1);
  EXPECT_GE(monitor.state().sm_clock_mhz->max, 6) << "one more at the end";
}

/// Batches of 8 and 2 images, each after a warm-up: the monitor sees the trials alone.
TEST(DeviceMonitor, IsToldOfTheTrialsOfEachBatch) {
  testing::Rng rng{4};
  const Network network = testing::network_of({testing::random_layer(rng, 8, 8, 3, 0, 1, 0)});
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet images = testing::bit_images(rng, 10, 8, 0.5);
  DeviceMonitor monitor(fake(), kAtBothEnds);
  RunOptions options;
  options.trials = 3;
  options.warm_up = 1;
  options.batch = 8;
  options.monitor = &monitor;
  run(testing::RecordingEngine::variant(), plan, images, options);
  const DeviceState state = monitor.state();
  EXPECT_EQ(state.sm_clock_mhz->max, 1300);
  EXPECT_EQ(state.joules_per_trial, 4.0);
}

TEST(DeviceMonitor, IsGivenTrialsThatDoNotCountUntilEnergyIsKnown) {
  testing::Rng rng{4};
  const Network network = testing::network_of({testing::random_layer(rng, 8, 8, 3, 0, 1, 0)});
  const Plan plan = testing::unreduced_plan(network);
  const ImageSet images = testing::bit_images(rng, 10, 8, 0.5);
  DeviceMonitor monitor(fake(), {std::chrono::hours(1), 0.05});
  RunOptions options;
  options.trials = 2;
  options.monitor = &monitor;
  std::uint64_t done = 0;
  options.progress = [&](const ProgressUpdate& update) { done = std::max(done, update.done); };
  const RunResult result = run(testing::RecordingEngine::variant(), plan, images, options);
  EXPECT_EQ(result.infer_seconds.size(), 2U);
  EXPECT_GT(result.warm_up_seconds, 0.0);
  EXPECT_EQ(done, 2U);
  EXPECT_LT(*monitor.state().joules_per_trial, 3.0) << "two trials alone would have taken half of 6 J each";
}

}  // namespace
}  // namespace spdnn
