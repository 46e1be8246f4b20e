#include "bench/suite_table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/taken_together.hpp"

namespace spdnn::bench {

namespace {

std::string in_tera(std::optional<double> rate) { return rate ? fmt::format("{:.4g}", *rate / 1e12) : "-"; }

std::string row(const SuiteConfiguration& configuration, const std::vector<SuiteResult>& results) {
  const Spread infer = infer_of(results, &SuiteResult::infer);
  const auto rate = [&](auto value) { return in_tera(median_of(results, value)); };
  return fmt::format("{:>7} {:>6}  {:<26} {:<24} {:>4} {:>11.4f} {:>11.4f} {:>11.4f} {:>11} {:>11} {:>11} {:>11}  {}\n",
                     configuration.neurons, configuration.layers, configuration.reduce, results.front().variant,
                     results.size(), infer.median * 1e3, infer.min * 1e3, infer.max * 1e3, rate(&SuiteResult::rate),
                     in_tera(median_if_all(results, &SuiteResult::rate_computed)), rate(&SuiteResult::rate_with_setup),
                     rate(&SuiteResult::rate_end_to_end), worst_status(results, &SuiteResult::verdict));
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
                             spec.repetitions - results.size(), spec.repetitions, given_up.value_or("not started"));
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

std::optional<double> RunTimes::estimate(const std::vector<Index>& runs) const {
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

}  // namespace spdnn::bench
