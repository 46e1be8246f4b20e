#include "cli/suite_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spdnn/report.hpp"

namespace spdnn::cli {

namespace {

std::string in_tera(std::optional<double> rate) { return rate ? fmt::format("{:.4g}", *rate / 1e12) : "-"; }

/// Empty where one of them is.
std::optional<double> median_of(const std::vector<SuiteResult>& results, auto value) {
  std::vector<double> values;
  for (const SuiteResult& result : results) {
    const std::optional<double> one = value(result);
    if (!one) return std::nullopt;
    values.push_back(*one);
  }
  return spread(std::move(values)).median;
}

/// The worst of them.
std::string verdict_of(const std::vector<SuiteResult>& results) {
  for (const char* const verdict : {"FAILED", "UNVERIFIED"})
    if (std::any_of(results.begin(), results.end(), [&](const auto& result) { return result.verdict == verdict; }))
      return verdict;
  return "PASSED";
}

/// The median of the medians, and the extremes of all trials: a row of `spdnn report` has the same.
Spread infer_of(const std::vector<SuiteResult>& results) {
  std::vector<double> medians;
  std::vector<double> extremes;
  for (const SuiteResult& result : results) {
    medians.push_back(result.infer.median);
    extremes.insert(extremes.end(), {result.infer.min, result.infer.max});
  }
  Spread infer = spread(std::move(extremes));
  infer.median = spread(std::move(medians)).median;
  return infer;
}

std::string row(const SuiteConfiguration& configuration, const std::vector<SuiteResult>& results) {
  const Spread infer = infer_of(results);
  const auto rate = [&](auto value) { return in_tera(median_of(results, value)); };
  return fmt::format("{:>7} {:>6}  {:<26} {:<24} {:>4} {:>11.4f} {:>11.4f} {:>11.4f} {:>11} {:>11} {:>11} {:>11}  {}\n",
                     configuration.neurons, configuration.layers, configuration.reduce, results.front().variant,
                     results.size(), infer.median * 1e3, infer.min * 1e3, infer.max * 1e3,
                     rate([](const SuiteResult& r) { return std::optional(r.rate); }),
                     rate([](const SuiteResult& r) { return r.rate_computed; }),
                     rate([](const SuiteResult& r) { return std::optional(r.rate_with_setup); }),
                     rate([](const SuiteResult& r) { return std::optional(r.rate_end_to_end); }), verdict_of(results));
}

}  // namespace

std::string suite_table(const SuiteSpec& spec, const std::vector<ConfigurationResults>& all) {
  std::string table;
  std::string missing;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [results, given_up] = all[i];
    if (!results.empty()) table += row(spec.configurations[i], results);
    if (results.size() < spec.repetitions)
      missing += fmt::format("not run: {}, {} of {} repetitions: {}\n", spec.configurations[i].name(),
                             spec.repetitions - results.size(), spec.repetitions, given_up.value_or("not begun"));
  }
  const std::string head =
      fmt::format("{:>7} {:>6}  {:<26} {:<24} {:>4} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11} {:>11}  {}\n", "neurons",
                  "layers", "passes", "variant", "runs", "infer (ms)", "min", "max", "rate (TE/s)", "computed",
                  "with set-up", "end to end", "verdict");
  return (table.empty() ? "" : head + table) + missing;
}

void RunTimes::add(std::size_t configuration, double seconds) {
  seconds_[configuration].seconds += seconds;
  ++seconds_[configuration].runs;
}

std::optional<double> RunTimes::guess(const std::vector<Index>& runs) const {
  double seconds = 0;
  double edges = 0;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    seconds += seconds_[i].seconds;
    edges += spec_.configurations[i].edges() * seconds_[i].runs;
  }
  if (edges == 0) return std::nullopt;
  double all = 0;
  for (std::size_t i = 0; i < seconds_.size(); ++i) {
    const Known& known = seconds_[i];
    const double one = known.runs > 0 ? known.seconds / known.runs : spec_.configurations[i].edges() * seconds / edges;
    all += runs[i] * std::min(one, spec_.limit_seconds.value_or(one));
  }
  return all;
}

std::string duration_text(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 90 * 60) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace spdnn::cli
