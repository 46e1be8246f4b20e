// What `bench layers` times. tests/cli/devices.bats has the command.

#include "bench/layer_bench.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <filesystem>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "bench/layers_run.hpp"
#include "core/text/json_text.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::bench {
namespace {

std::size_t bits_set(const BitMatrix& bits) {
  std::size_t set = 0;
  for (const std::uint64_t word : bits.words) set += static_cast<std::size_t>(std::popcount(word));
  return set;
}

TEST(LayerBench, ImagesHaveHalfOfTheirPixelsAndAsManyAsAreAlive) {
  for (const Index neurons : {64U, 70U, 127U, 128U, 1000U}) {
    const LayerProblem problem =
        make_problem({.neurons = neurons, .degree = 4, .layers = 2, .images = 300, .alive = 0.335});
    EXPECT_EQ(problem.images.images(), 101U) << "rounded";
    EXPECT_EQ(problem.images.neurons(), neurons);
    EXPECT_NO_THROW(problem.images.validate()) << "no bit beyond the last neuron";
    const auto pixels = static_cast<double>(101 * neurons);
    EXPECT_NEAR(static_cast<double>(bits_set(problem.images.bits())), pixels / 2, 0.03 * pixels) << neurons;
    EXPECT_EQ(problem.plan.depth(), 2U);
    EXPECT_EQ(problem.plan.edges(), std::size_t{8} * neurons);
  }
  EXPECT_EQ(make_problem({.neurons = 64, .degree = 4, .images = 10, .alive = 0.001}).images.images(), 1U);
}

TEST(LayerBench, CountsEdgesAndBytesOfOneLayerAndItsTrials) {
  const LayerBench bench{
      .neurons = 96, .degree = 4, .layers = 3, .images = 50, .alive = 1, .trials = 4, .seconds = 600};
  const LayerProblem problem = make_problem(bench);
  const LayerTiming timing = time_layers(find_variant("cpu_openmp"), bench, problem, {});
  EXPECT_EQ(timing.images, 50U);
  EXPECT_EQ(timing.trials, 4);
  EXPECT_EQ(timing.edges, 50.0 * 96 * 4);
  EXPECT_EQ(timing.bytes, problem.plan.bytes() / 3 + std::size_t{2} * 4 * 50 * 96);
  EXPECT_GT(timing.seconds.min, 0);
  EXPECT_LE(timing.seconds.min, timing.seconds.median);
  LayerBench limited = bench;
  limited.trials = 1000000;
  limited.seconds = 0.02;
  EXPECT_LT(time_layers(find_variant("cpu_openmp"), limited, problem, {}).trials, 100000);
}

/// cpu_openmp as a variant in bf16, and a variant whose engines cannot be made.
const Variant in_bf16{"in_bf16",
                      Device::cpu,
                      "",
                      {Precision::bf16},
                      [](const Plan& plan, const BatchInfo& batch, const EngineOptions&) {
                        return find_variant("cpu_openmp").support(plan, batch, {});
                      },
                      [](std::shared_ptr<const Plan> plan, const BatchInfo& batch, const EngineOptions&) {
                        return find_variant("cpu_openmp").make(std::move(plan), batch, {});
                      }};
const Variant failing{
    "failing",
    Device::cpu,
    "",
    {Precision::fp32},
    in_bf16.support,
    [](std::shared_ptr<const Plan> plan, const BatchInfo&, const EngineOptions&) -> std::unique_ptr<Engine> {
      if (plan->layers.front().outputs() == 64) throw DeviceError("no device");
      throw std::bad_alloc();
    }};

/// What an engine does not take is skipped, and what fails is an error in the end; the lines of all others are in the
/// file, in the order of the problems.
TEST(LayerBench, ARunKeepsTheLineOfEachMeasurement) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / ("layers-" + std::to_string(::getpid()) + ".jsonl");
  std::string printed;
  const Variant& tiles = find_variant("cpu_openmp");
  const LayerBench small{.neurons = 64, .degree = 4, .layers = 2, .images = 10, .trials = 1};
  LayerBench other = small;
  other.neurons = 128;
  other.degree = 8;
  other.distinct = true;
  const std::vector<Candidate> candidates{{&tiles, Precision::fp32},
                                          {&find_variant("cpu_reference"), Precision::fp32},
                                          {&failing, Precision::fp32},
                                          {&tiles, Precision::fp64},
                                          {&in_bf16, Precision::bf16}};
  EXPECT_EQ(testing::message_of<DeviceError>([&] {
              run_layers({small, other}, candidates, path.native(), [&](const std::string& text) { printed += text; });
            }),
            "measurements that failed: 2; see the table for reasons");
  const std::string text = text_of_file(path);
  std::filesystem::remove(path);
  std::string found;
  for (std::size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
    const Json line = parse_json(std::string_view(text).substr(begin, text.find('\n', begin) - begin));
    for (const char* const field : {"variant", "precision", "weights"}) found += line[field].get<std::string>() + " ";
    for (const char* const field : {"neurons", "degree", "layers", "images", "trials"})
      found += json_text(line[field]) + " ";
    found += "|";
    const auto median = line["seconds_per_layer"]["median"].get<double>();
    EXPECT_NEAR(line["edges_per_second"].get<double>() * median,
                10 * line["neurons"].get<double>() * line["degree"].get<double>(), 1e-3);
    EXPECT_NEAR(line["share_of_ceiling"].get<double>() * line["ceiling_bytes_per_second"].get<double>() * median,
                line["bytes"].get<double>(), 1e-3);
  }
  EXPECT_EQ(
      found,
      "cpu_openmp fp32 constant 64 4 2 10 1 |cpu_openmp fp64 constant 64 4 2 10 1 |in_bf16 bf16 constant 64 4 2 10 "
      "1 |cpu_openmp fp32 distinct 128 8 2 10 1 |cpu_openmp fp64 distinct 128 8 2 10 1 |in_bf16 bf16 distinct "
      "128 8 2 10 1 |");
  for (const char* const words :
       {"failed: no device\n", "failed: out of host memory\n", "; below fp32: in_bf16 bf16, ", " times as fast\n"})
    EXPECT_NE(printed.find(words), std::string::npos) << printed;
  EXPECT_NE(printed.find("skipped: "), std::string::npos) << printed;
  EXPECT_NE(printed.find("fastest: cpu_openmp"), std::string::npos) << printed;
}

}  // namespace
}  // namespace spdnn::bench
