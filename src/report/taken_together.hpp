#pragma once

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "spdnn/report.hpp"

namespace spdnn {

// Runs of one configuration as one result, for reports and for the table of a suite. `runs` is a list that is not
// empty, and the last argument says what to take of each of them.

double median_of(const auto& runs, auto value) {
  std::vector<double> values;
  for (const auto& run : runs) values.push_back(std::invoke(value, run));
  return spread(std::move(values)).median;
}

/// Of what is optional; empty where one of them does not say it.
std::optional<double> median_if_all(const auto& runs, auto value) {
  if (std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return !std::invoke(value, run); }))
    return std::nullopt;
  return median_of(runs, [&](const auto& run) { return *std::invoke(value, run); });
}

/// The median of the medians, the least minimum and the greatest maximum.
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

/// One wrong run among several makes the configuration wrong.
std::string worst_status(const auto& runs, auto status) {
  for (const char* const worst : {"FAILED", "UNVERIFIED"})
    if (std::any_of(runs.begin(), runs.end(), [&](const auto& run) { return std::invoke(status, run) == worst; }))
      return worst;
  return "PASSED";
}

}  // namespace spdnn
