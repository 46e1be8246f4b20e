#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/report.hpp"

namespace spdnn {

// Combines the runs of one configuration into one result, for reports and for the table of a suite. `runs` is a
// non-empty list, and the last argument selects a value of each run.

double median_of(const auto& runs, auto value) {
  std::vector<double> values;
  values.reserve(runs.size());
  for (const auto& run : runs) values.push_back(std::invoke(value, run));
  return spread(std::move(values)).median;
}

/// The median of optional values; empty if one of them is missing.
std::optional<double> median_if_all(const auto& runs, auto value) {
  if (std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return !std::invoke(value, run); }))
    return std::nullopt;
  return median_of(runs, [&](const auto& run) { return *std::invoke(value, run); });
}

/// The median of the medians, the minimum and the maximum.
Spread infer_of(const auto& runs, auto spread_of_run) {
  std::vector<double> extremes;
  for (const auto& run : runs) {
    const Spread& one = std::invoke(spread_of_run, run);
    extremes.insert(extremes.end(), {one.min, one.max});
  }
  const auto [least, greatest] = std::minmax_element(extremes.begin(), extremes.end());
  return {.min = *least,
          .median = median_of(runs, [&](const auto& run) { return std::invoke(spread_of_run, run).median; }),
          .max = *greatest,
          .sum = 0};
}

/// One wrong run makes the whole configuration wrong.
std::string worst_status(const auto& runs, auto status) {
  for (const char* const worst : {"FAILED", "UNVERIFIED"})
    if (std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return std::invoke(status, run) == worst; }))
      return worst;
  return "PASSED";
}

}  // namespace spdnn
