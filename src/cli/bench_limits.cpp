#include "cli/bench_limits.hpp"

#include <fmt/format.h>

#include "cli/specification.hpp"
#include "core/text/comma_list.hpp"
#include "core/threads/parallel.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

double duration_of(const po::variables_map& values, const char* option) {
  const std::string text = values[option].as<std::string>();
  const double seconds = parse_real(option, text);
  if (seconds < 0) throw UsageError(fmt::format("--{}: {} is negative", option, text));
  return seconds;
}

}  // namespace

bench::RunLimits run_limits(const po::variables_map& values) {
  bench::RunLimits limits{.warm_up = duration_of(values, "warm-up"), .seconds = duration_of(values, "seconds")};
  if (const auto runs = text_of(values, "runs")) limits.runs = parse_count("runs", *runs);
  return limits;
}

std::vector<Index> thread_counts(const po::variables_map& values) {
  const std::optional<std::string> text = text_of(values, "threads");
  if (!text) return {static_cast<Index>(host_threads())};
  std::vector<Index> counts;
  for (const std::string_view count : split_at_commas(*text))
    counts.push_back(static_cast<Index>(parse_threads(std::string(count))));
  return counts;
}

}  // namespace spdnn::cli
