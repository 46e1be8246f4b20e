// Reports in which each field has a number of its own, compared with whole_reports.txt: their text, and their JSON line
// with a field on each line.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "core/text/json_text.hpp"
#include "report/prune_report.hpp"
#include "spdnn/model_report.hpp"
#include "spdnn/report.hpp"
#include "support/whole.hpp"

namespace spdnn {
namespace {

/// 3, 5, 7, ...: no two of a report are equal, nor quotients of them.
class OddNumbers {
 public:
  operator double() { return last_ += 2; }  // NOLINT(google-explicit-constructor)
  template <class T>
  T as() {
    return static_cast<T>(last_ += 2);
  }
  Spread spread() { return {.min = as<double>(), .median = as<double>(), .max = as<double>(), .sum = as<double>()}; }

 private:
  double last_ = 1;
};

PhaseSeconds seconds_of(OddNumbers& n) {
  PhaseSeconds s{.load = n,
                 .join = n,
                 .read = n,
                 .plan = n,
                 .start = {.took = n, .waited = n},
                 .share = n,
                 .upload = n,
                 .upload_images = n,
                 .warm_up = n,
                 .infer = n.spread(),
                 .checkpoint = n,
                 .gather = n,
                 .write = n};
  s.total = 1000 + n;
  return s;
}

void fill(RunRecord& r, OddNumbers& n) {
  r.images = 100 + n.as<Index>();
  r.variant = "a_variant";
  r.why = "it is the first";
  r.machine = {"a host", "a processor", "a device", "a driver", "a CUDA"};
  r.device = Device::cuda;
  r.threads = n.as<int>();
  r.batch = n.as<Index>();
  r.trials = n.as<int>();
  r.warm_up = n.as<int>();
  r.notes = {"one note", "another note"};
  r.seconds = seconds_of(n);
  r.ranks = RankSpreads{.ranks = n.as<int>(),
                        .hosts = n.as<int>(),
                        .images = n.spread(),
                        .upload = n.spread(),
                        .infer = n.spread(),
                        .taken = n.spread(),
                        .slowest = n.as<int>(),
                        .slowest_host = "slow host"};
  r.device_state = DeviceState{n.spread(), n.spread(), n.spread(), n.spread(), n.as<double>()};
}

Report network_report() {
  OddNumbers n;
  Report r;
  fill(r, n);
  r.neurons = {1024, 512, 256};
  r.bias = "-0.3";
  r.cap = n;
  r.empty_images = n.as<Index>();
  r.edges = 1000 + n.as<Offset>();
  r.stored_edges = 500 + n.as<Offset>();
  r.computed_edges = 10000 + n;
  r.passes = {.twins = true, .dead = true};
  r.parts = n.as<int>();
  r.earlier = seconds_of(n);
  r.checkpoints = CheckpointSummary{n.as<double>(), n.as<int>(), n.as<std::uint64_t>(), n.as<int>(), n.as<double>()};
  r.streamed = StreamedRun{n.as<Index>(), n.as<std::uint64_t>()};
  r.images_read_by = "all ranks";
  r.outcome.categories = {1, 4, 8};
  r.outcome.alive = {90, 80};
  r.outcome.active = {70, 60};
  r.outcome.saturated = n.as<std::int64_t>();
  r.outcome.identical = n.as<std::int64_t>();
  r.outcome.borderline = {2, 3};
  for (Index image = 5; image < 17; ++image) r.outcome.overflow.push_back({image, image == 7 ? 1U : 2U});
  r.verdict = judge({1, 4, 8}, {1, 4, 7, 9}, "the list");
  r.compared = ComparedRun{"another", {.saturated = true}, n.spread(), true};
  r.precision = Precision::tf32;
  r.against_fp32 = judge({1, 4, 8}, {1, 4}, "fp32");
  return r;
}

LogitCheck check_of(OddNumbers& n, const std::string& against) {
  const auto output = [&](const char* name) {
    return OutputCheck{.name = name,
                       .largest_ratio = n,
                       .largest_deviation = n,
                       .largest_bound = n,
                       .largest_expected = n,
                       .tolerance = n,
                       .widened = n,
                       .largest_excess = n};
  };
  return {.against = against,
          .images = n.as<Index>(),
          .outputs = {output("logits"), output("boxes")},
          .outside = n.as<Index>(),
          .beyond = n.as<Index>(),
          .undecided = n.as<Index>(),
          .first_ids = {3, 4},
          .differing = n.as<Index>(),
          .near_ties = {{1, 2, 3}}};
}

ModelReport model_report() {
  OddNumbers n;
  ModelReport r;
  fill(r, n);
  r.model = "model.onnx";
  r.name = "a net";
  r.input = {kBatchExtent, 3, 32, 32};
  r.images = 2;
  r.outputs = {
      {"logits", {kBatchExtent, 3}, {{2, 3}, std::vector<float>{0.25F, 0.125F, 0.625F, 0.5F, 0.375F, 0.0625F}}},
      {"boxes", {kBatchExtent, 4}, {{2, 4}, std::vector<float>(8)}}};
  r.nodes = n.as<std::size_t>();
  r.rewrites = {.constants = true, .affine = true};
  r.nodes_run = n.as<std::size_t>();
  r.weights = 1000 + n.as<Offset>();
  r.nonzeros = 400 + n.as<Offset>();
  r.multiply_adds = {50000 + n, 10000 + n};
  r.multiply_adds_run = {40000 + n, 9000 + n};
  r.available = n.as<Index>();
  r.classes = 3;
  r.image_files = {"a.png", "b.png"};
  r.class_names = {"cat", "dog", "cow"};
  r.score = "probability";
  r.profile = {{"conv1", "convolution", n}, {"relu1", "relu", n}};
  r.predictions = {2, 0};
  r.overflow = "node 2 \"conv1\"";
  r.accuracy = Accuracy{100, 71, 5, 93, 0.7};
  r.expected = check_of(n, "the file");
  r.recomputed = check_of(n, "the reference");
  r.nodes_checked = NodeCheck{n.as<Index>(), n.as<std::size_t>(), n, "conv1", n};
  r.compared = ComparedModelRun{{"another", n.as<Index>(), n}, n.spread()};
  r.precision = Precision::bf16;
  r.against_fp32 = ModelDifference{"fp32's variant", n.as<Index>(), n};
  r.verdict = {Judgement::Status::failed, "the file"};
  return r;
}

PruneReport prune_report() {
  OddNumbers n;
  const auto pruned = [&](std::size_t node, const char* name, bool left) {
    PrunedLayer l{
        .node = node, .name = name, .operation = "convolution", .left = left, .weights = 1000 + n.as<Offset>()};
    l.nonzeros_before = 800 + n.as<Offset>();
    l.nonzeros_after = 300 + n.as<Offset>();
    l.seconds_before = n;
    l.seconds_after = n;
    l.measured_before = n;
    l.measured_after = n;
    if (!left) l.error_before = n, l.error_after = n;
    if (!left) l.trials = {{0.5, n, n}, {0.9, n, n}};
    return l;
  };
  PruneReport r{.model = "in.onnx",
                .out = "out.onnx",
                .method = "by size",
                .calibrated = n.as<Index>(),
                .batch = n.as<Index>(),
                .threads = n.as<int>()};
  r.layers = {pruned(0, "conv1", false), pruned(3, "conv2", true)};
  r.seconds_before = 100 + n;
  r.seconds_after = 50 + n;
  r.timed_runs = n.as<int>();
  r.measured_before = 90 + n;
  r.measured_after = 40 + n;
  r.measure = PruneMeasure{n.as<Index>(), n.as<Index>(), 0.91, 0.89, 0.97, 0.125};
  r.notes = {"a note"};
  return r;
}

/// The text, and each member of the JSON line but that of the build.
template <class One>
std::string whole(const One& report) {
  std::string all = to_text(report);
  const Json line = parse_json(to_json(report));
  for (const auto& [name, value] : line.items())
    if (name != "build") all += fmt::format("{}: {}", name, json_line(value));
  return all + "\n";
}

TEST(WholeReports, HaveEachNumberInItsPlace) {
  ModelReport plain;
  plain.outputs = {{"logits", {kBatchExtent, 10}}};
  const std::string found =
      whole(network_report()) + whole(Report{}) + whole(model_report()) + whole(plain) + whole(prune_report());
  testing::expect_whole(__FILE__, "whole_reports.txt", found);
}

}  // namespace
}  // namespace spdnn
