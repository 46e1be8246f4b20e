#include "bench/timed_runs.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fstream>
#include <thread>

namespace spdnn::bench {

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// The shortest of the uncounted runs.
double warm_up(const Side& side, double seconds) {
  const Clock::time_point begin = Clock::now();
  double least = INFINITY;
  do least = std::min(least, side(1).front());
  while (since(begin) < seconds);
  return least;
}

Index runs_of_turn(const std::vector<double>& run_seconds, const RunLimits& limits) {
  constexpr double kTurnSeconds = 0.1;
  constexpr double kMost = 1000;
  constexpr Index kLeastTurns = 8;
  if (run_seconds.size() == 1) return 1;
  const double longest = *std::max_element(run_seconds.begin(), run_seconds.end());
  const auto runs = static_cast<Index>(std::clamp(kTurnSeconds / std::max(longest, 1e-9), 1.0, kMost));
  return limits.runs ? std::clamp<Index>(*limits.runs / kLeastTurns, 1, runs) : runs;
}

Spread spread_of(std::vector<double> ratios) {
  std::sort(ratios.begin(), ratios.end());
  return {ratios.front(), TimedRuns{ratios}.median(), ratios.back()};
}

}  // namespace

double machine_load() {
  double one_minute = 0;
  std::ifstream("/proc/loadavg") >> one_minute;
  return one_minute / std::max(1U, std::thread::hardware_concurrency());
}

double TimedRuns::quantile(double share) const {
  const auto count = static_cast<double>(seconds.size());
  const auto at = static_cast<std::size_t>(std::max(std::ceil(share * count) - 1, 0.0));
  return seconds[at];
}

Json TimedRuns::json(Index images) const {
  return {{"runs", seconds.size()},
          {"seconds",
           {{"min", seconds.front()},
            {"p50", median()},
            {"p90", quantile(0.9)},
            {"p99", quantile(0.99)},
            {"max", seconds.back()}}},
          {"images_per_second", images / median()}};
}

InTurns time_in_turns(const std::vector<Side>& sides, const RunLimits& limits) {
  std::vector<double> run_seconds;
  run_seconds.reserve(sides.size());
  for (const Side& side : sides) run_seconds.push_back(warm_up(side, limits.warm_up));
  const Index of_turn = runs_of_turn(run_seconds, limits);
  InTurns found{.sides = std::vector<TimedRuns>(sides.size())};
  std::vector<double> ratios;
  const Clock::time_point begin = Clock::now();
  Index done = 0;
  do {
    const Index runs = limits.runs ? std::min(of_turn, *limits.runs - done) : of_turn;
    std::vector<double> shortest(sides.size());
    for (std::size_t i = 0; i < sides.size(); ++i) {
      const std::size_t side = found.turns % 2 == 0 ? i : sides.size() - 1 - i;
      const std::vector<double> seconds = sides[side](runs);
      shortest[side] = *std::min_element(seconds.begin(), seconds.end());
      found.sides[side].seconds.insert(found.sides[side].seconds.end(), seconds.begin(), seconds.end());
    }
    if (sides.size() == 2) ratios.push_back(shortest[0] / shortest[1]);
    done += runs;
    ++found.turns;
  } while (limits.runs ? done < *limits.runs : since(begin) < limits.seconds * static_cast<double>(sides.size()));
  for (TimedRuns& side : found.sides) std::sort(side.seconds.begin(), side.seconds.end());
  if (!ratios.empty()) found.ratio = spread_of(std::move(ratios));
  return found;
}

}  // namespace spdnn::bench
