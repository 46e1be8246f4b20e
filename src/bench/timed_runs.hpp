#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/text/json.hpp"
#include "spdnn/report.hpp"
#include "spdnn/types.hpp"

namespace spdnn::bench {

/// The seconds of each run, ascending.
struct TimedRuns {
  std::vector<double> seconds;

  /// The time that a share of the runs did not exceed: the smallest such one.
  double quantile(double share) const;
  double median() const { return quantile(0.5); }
  /// `runs`, the quantiles in `seconds`, and `images_per_second`.
  Json json(Index images) const;
};

/// Runnable threads of the machine per processor, as /proc/loadavg has it for the last minute; 0 if it does not say.
double machine_load();

/// How long to measure.
struct RunLimits {
  double warm_up = 0.5;         ///< seconds of uncounted runs of each side, at least one run
  double seconds = 2;           ///< of each side; no turn begins after these, unless `runs` is given
  std::optional<Index> runs{};  ///< number of runs of each side, however long they take
};

/// A program to be timed: runs it that many times, and returns the seconds of each run.
using Side = std::function<std::vector<double>(Index runs)>;

struct InTurns {
  std::vector<TimedRuns> sides;
  std::size_t turns = 0;
  /// Over the turns: shortest run of the first side / shortest of the second. Where others use the processors, long
  /// runs are interrupted more often than short ones, so that medians would favour the faster side.
  std::optional<Spread> ratio{};
};

/// Times one side, a run at a time, or two in turns of equally many runs, about a tenth of a second long. Who begins
/// alternates, so that a machine that gets slower or faster does so for both.
InTurns time_in_turns(const std::vector<Side>& sides, const RunLimits& limits);

}  // namespace spdnn::bench
