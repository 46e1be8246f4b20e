// Whole reports of small runs whose settings all differ from the default and from one another.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "inference/ranks/inference_on_ranks.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/run_text.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// 4, 3 and 2 neurons. With the cap and the biases it computes, of a and b: (a, b, a + b) - 1, then (a, a + b) - 0.5.
Network narrowing(double first = -1, double last = -0.5) {
  Network network;
  network.layers = {testing::make_layer(4, {{{0, 1.F}}, {{1, 1.F}}, {{0, 1.F}, {1, 1.F}}}, first),
                    testing::make_layer(3, {{{0, 1.F}}, {{2, 1.F}}}, last)};
  network.cap = 16;
  return network;
}

/// Five images, of which one is nothing and two end as nothing.
ImageSet five_images() {
  return {testing::make_matrix(4, {{{0, 3.F}}, {}, {{1, 0.5F}}, {{1, 3.F}, {3, 1.F}}, {{0, 1.F}, {1, 0.25F}}})};
}

/// How the reports of narrowing() on five images begin.
const std::string beginning_of_reports = R"x(schema: "spdnn-run-1"
problem: {"neurons":[4,3,2],"layers":2,"bias":"-1..-0.5","cap":16.0,"images":5,"empty_images":1,"edges":6}
passes: "dead"
parts: 1
checkpoints: null
stored_edges: 6
streamed: null
computed_edges: 22.0
rate: "> 0"
rate_computed: "> 0"
rate_with_setup: "> 0"
rate_end_to_end: "> 0"
)x";

InferenceSpec settings() {
  InferenceSpec spec;
  spec.variant = "cpu_openmp";
  spec.threads = 2;
  spec.batch = 3;
  spec.trials = 4;
  spec.warm_up = 1;
  spec.passes = parse_passes("dead");
  return spec;
}

Report report_of_network(const InferenceSpec& spec, const Network& network) {
  Inference inference(spec);
  inference.load(network, five_images());
  inference.plan();
  inference.run();
  inference.verify();
  return inference.report();
}

TEST(WholeRuns, OfANetworkTellEachOfTheirSettings) {
  InferenceSpec spec = settings();
  spec.compare = true;
  spec.truth.list = Categories{0, 3};
  spec.truth.sample = 2;
  EXPECT_EQ(
      testing::text_of_run(to_json(report_of_network(spec, narrowing()))),
      beginning_of_reports +
          R"x(verdict: {"status":"PASSED","against":"the given list and cpu_reference on 2 of 5 images, a sample","checks":["the given list","cpu_reference on 2 of 5 images, a sample","--reduce dead by cpu_openmp"],"categories":2,"missing":0,"extra":0,"first_ids":[1,4]}
alive: [3,2]
active: [3,0]
borderline: 0
overflow: null
compared: {"variant":"cpu_openmp","passes":"dead","infer":{"min":"> 0","median":"> 0","max":"> 0","sum":"> 0"},"rate":"> 0","same_categories":true}
against_fp32: null
images_read_by: null
variant: "cpu_openmp"
notes: []
precision: "fp32"
trials: 4
warm_up: 1
batch: 3
seconds: {"load":0,"join":0,"read":"> 0","plan":"> 0","start":{"took":0,"waited":0},"share":0,"upload":"> 0","upload_images":"> 0","warm_up":"> 0","infer":{"min":"> 0","median":"> 0","max":"> 0","sum":"> 0"},"checkpoint":0,"gather":"> 0","write":0,"total":"> 0"}
ranks: null
device_state: null
)x");
}

/// The range of all layers, whichever of them has its ends.
TEST(WholeRuns, OfANetworkNameTheRangeOfItsBiases) {
  const auto bias = [](double first, double last) {
    InferenceSpec spec = settings();
    spec.passes = {};
    return report_of_network(spec, narrowing(first, last)).bias;
  };
  EXPECT_EQ(bias(-1, -0.5), "-1..-0.5");
  EXPECT_EQ(bias(-0.5, -1), "-1..-0.5");
  EXPECT_EQ(bias(-2, -2), "-2");
  InferenceSpec spec = settings();
  Network three = narrowing();
  three.layers.push_back(testing::make_layer(2, {{{1, 1.F}}}, -0.75));
  EXPECT_EQ(report_of_network(spec, three).bias, "-1..-0.5") << "a last one between the others";
}

TEST(WholeRuns, OfANetworkOnRanksTellTheSame) {
  InferenceSpec spec = settings();
  spec.deal = Deal::fixed;
  spec.truth.everything = true;
  Report report;
  const auto work = [&](Communicator& ranks) {
    InferenceOnRanks inference(spec, ranks);
    if (ranks.is_root())
      inference.load(narrowing(), five_images());
    else
      inference.load();
    inference.plan();
    inference.run();
    inference.verify();
    if (ranks.is_root()) report = inference.report();
    ranks.barrier();
  };
  for (const auto& thrown : testing::on_ranks(3, work)) EXPECT_EQ(thrown, nullptr);
  EXPECT_EQ(report.ranks->ranks, 3);
  EXPECT_EQ(report.ranks->hosts, 1);
  EXPECT_EQ(report.ranks->images.min, 1);
  EXPECT_EQ(report.ranks->images.sum, 5);
  EXPECT_FALSE(report.ranks->taken);
  report.ranks.reset();
  EXPECT_EQ(
      testing::text_of_run(to_json(report)),
      beginning_of_reports +
          R"x(verdict: {"status":"PASSED","against":"cpu_reference on all images","checks":["cpu_reference on all images"],"categories":2,"missing":0,"extra":0,"first_ids":[1,4]}
alive: [3,2]
active: [3,0]
borderline: 0
overflow: null
compared: null
against_fp32: null
images_read_by: "rank 0, which sent them"
variant: "cpu_openmp"
notes: []
precision: "fp32"
trials: 4
warm_up: 1
batch: 2
seconds: {"load":0,"join":0,"read":"> 0","plan":"> 0","start":{"took":0,"waited":0},"share":"> 0","upload":"> 0","upload_images":"> 0","warm_up":"> 0","infer":{"min":"> 0","median":"> 0","max":"> 0","sum":"> 0"},"checkpoint":0,"gather":"> 0","write":0,"total":"> 0"}
ranks: null
device_state: null
)x");
}

/// Of 40 layers that do not fit into the host memory together, and are read again in each trial.
TEST(WholeRuns, OfAStreamedNetworkTellHowMuchWasRead) {
  const TemporaryDirectory directory;
  InferenceSpec spec = settings();
  spec.network.path = (directory / "n.spdnn").string();
  spec.images.path = (directory / "i.spdnn").string();
  testing::Rng rng(4);
  Network network = testing::deep_network(40);
  network.cap = 8;
  write_network(spec.network.path, Form::packed, network);
  write_images(spec.images.path, testing::bit_images(rng, 10, 64, 0.4));
  spec.batch = 10;
  spec.host_memory = network.bytes();
  std::vector<std::uint64_t> read;
  for (const int trials : {1, 3}) {
    spec.trials = trials;
    spec.warm_up = 0;
    Inference inference(spec);
    inference.load();
    inference.plan();
    inference.run();
    const Report& report = inference.report();
    ASSERT_TRUE(report.streamed);
    EXPECT_EQ(report.cap, 8);
    EXPECT_LT(report.streamed->layers_at_once, 40U);
    EXPECT_GT(report.seconds.read, 0);
    EXPECT_GT(report.seconds.plan, 0);
    read.push_back(report.streamed->bytes_read);
  }
  EXPECT_GT(read[0], 0U);
  EXPECT_EQ(read[1], 3 * read[0]) << "what planning reads does not count";
}

}  // namespace
}  // namespace spdnn
