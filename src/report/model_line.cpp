#include "report/model_line.hpp"

#include <algorithm>

#include "report/line_parts.hpp"

namespace spdnn {

namespace {

/// The times of nodes in the field `list`.
std::vector<ProfiledNode> profile_of(const JsonFields& line, const char* list) {
  std::vector<ProfiledNode> nodes;
  const Json* const profile = line.find({list});
  if (profile == nullptr || profile->is_null()) return nodes;
  if (!profile->is_array()) line.fail({list}, "expected null or a list of nodes");
  for (const Json& node : *profile) {
    const auto text = [&](const char* name) {
      if (!node.is_object() || !node.contains(name) || !node[name].is_string())
        line.fail({list}, "expected nodes with name, operation and seconds");
      return JsonFields::printable(node[name].get<std::string>());
    };
    const auto seconds = node.find("seconds");
    if (seconds == nullptr || !JsonFields::is_amount(*seconds))
      line.fail({list}, "expected nodes with name, operation and seconds");
    nodes.push_back({text("name"), text("operation"), seconds->get<double>()});
  }
  return nodes;
}

/// The number of compared images, if not all were compared: without logits for all, and without a required accuracy.
std::optional<std::uint64_t> sample_of(const JsonFields& line, std::uint64_t images) {
  const Json* const wanted = line.find({"accuracy", "at_least"});
  if (wanted != nullptr && !wanted->is_null()) return std::nullopt;
  std::optional<std::uint64_t> compared;
  for (const char* const check : {"expected", "reference"})
    if (line.find({check, "images"}) != nullptr)
      compared = std::max(compared.value_or(0), std::uint64_t{line.count({check, "images"})});
  return compared && *compared < images ? compared : std::nullopt;
}

/// The times of a program, in the object at `in` of the line.
ModelTimes times_of(const JsonFields& line, std::uint64_t batch) {
  const ModelTimes times{.runs = static_cast<std::uint64_t>(line.positive({"runs"})),
                         .p50 = line.number({"seconds", "p50"}),
                         .p90 = line.number({"seconds", "p90"}),
                         .p99 = line.number({"seconds", "p99"}),
                         .images_per_second = line.number({"images_per_second"})};
  if (times.p50 > times.p90 || times.p90 > times.p99) line.fail({"seconds"}, "expected p50 <= p90 <= p99");
  check_rate(line, "images_per_second", static_cast<double>(batch), times.p50, "images");
  return times;
}

TimedWith timed_with(const JsonFields& with, std::uint64_t batch) {
  TimedWith other{.name = with.text({"name"}) + " " + with.text({"version"}),
                  .times = times_of(with, batch),
                  .ratio = with.spread({"ratio"}),
                  .agree = with.truth({"outputs", "agree"})};
  if (other.ratio.min <= 0) with.fail({"ratio", "min"}, "expected a number above 0");
  return other;
}

}  // namespace

ModelBenchLine model_bench_of(const JsonFields& line) {
  ModelBenchLine bench{.model = line.text({"model"}),
                       .variant = line.text({"variant"}),
                       .precision = line.text({"precision"}),
                       .batch = line.count({"batch"}),
                       .load = line.number({"load"}),
                       .layers = profile_of(line, "layers"),
                       .origin = origin_of(line)};
  bench.times = times_of(line, bench.batch);
  const Json& with = line.at({"with"});
  if (!with.is_null()) bench.with = timed_with(line.part("with"), bench.batch);
  return bench;
}

ModelLine model_of(const JsonFields& line) {
  ModelLine model{.model = line.text({"model", "file"}),
                  .variant = line.text({"variant"}),
                  .precision = line.text({"precision"}),
                  .status = status_of(line),
                  .images = line.count({"images"}),
                  .batch = line.count({"batch"}),
                  .weights = line.count({"model", "weights"}),
                  .nonzeros = line.count({"model", "nonzeros"}),
                  .infer = line.spread({"seconds", "infer"}),
                  .images_per_second = line.number({"images_per_second"}),
                  .dense = line.number({"flops", "dense"}),
                  .sparse = line.number({"flops", "sparse"}),
                  .origin = origin_of(line)};
  if (model.infer.min < 0) line.fail({"seconds", "infer"}, "expected no negative numbers");
  if (model.nonzeros > model.weights) line.fail({"model", "nonzeros"}, "expected no more than weights");
  check_rate(line, "images_per_second", static_cast<double>(model.images), model.infer.median, "images");
  if (line.find({"accuracy", "top_1"}) != nullptr) model.accuracy = line.number({"accuracy", "top_1"});
  for (const char* const check : {"expected", "reference"}) {
    if (line.find({check, "largest_ratio"}) == nullptr) continue;
    const std::optional<double> ratio = line.optional_number({check, "largest_ratio"});
    if (ratio) model.largest_ratio = std::max(model.largest_ratio.value_or(0), *ratio);
  }
  model.sample = sample_of(line, model.images);
  // Earlier versions called the whole run right if a sample of its images was.
  if (model.sample && model.status == "PASSED") model.status = "UNVERIFIED";
  model.profile = profile_of(line, "profile");
  return model;
}

}  // namespace spdnn
