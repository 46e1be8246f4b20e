#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cluster/fields.hpp"
#include "core/system/host_name.hpp"
#include "spdnn/run_record.hpp"

namespace spdnn {

/// What the ranks took, each by itself.
struct RankTimes {
  std::string host;
  Index images = 0;
  double upload_seconds = 0;
  double infer_seconds = 0;  ///< the median of its trials
  Index taken = 0;           ///< batches, where ranks take them from a counter
};
void fields(auto& archive, MaybeConst<RankTimes> auto& times) {
  archive(times.host, times.images, times.upload_seconds, times.infer_seconds, times.taken);
}
/// min, median and max over the ranks, and which is the slowest. Not of no ranks.
RankSpreads spreads_of(const std::vector<RankTimes>& times);
/// A note on the slowest rank, where its infer is more than 1.3 times the median and longer by 0.1 s: in shorter runs,
/// chance makes such a difference.
std::optional<std::string> note_on_slowest(const RankSpreads& ranks);

/// What a rank tells the root of its run, of a network as of a model.
struct RankReport {
  RankTimes times;
  std::vector<double> infer_seconds;  ///< by trial
  double warm_up_seconds = 0;
  double gather_seconds = 0;
};
void fields(auto& archive, MaybeConst<RankReport> auto& report) {
  archive(report.times, report.infer_seconds, report.warm_up_seconds, report.gather_seconds);
}

/// What this rank tells of `result`, a RunResult or a ModelRunResult, of so many images.
template <class Result>
RankReport rank_report_of(const Result& result, Index images) {
  return {{host_name(), images, result.upload_seconds, spread(result.infer_seconds).median},
          result.infer_seconds,
          result.warm_up_seconds,
          result.gather_seconds};
}

/// Of each trial, or each node, the longest.
inline void take_longest(std::vector<double>& all, const std::vector<double>& one) {
  if (all.size() < one.size()) all.resize(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) all[i] = std::max(all[i], one[i]);
}

/// Of each time, the longest.
template <class Result>
void take_longest(Result& all, const RankReport& one) {
  take_longest(all.infer_seconds, one.infer_seconds);
  all.upload_seconds = std::max(all.upload_seconds, one.times.upload_seconds);
  all.warm_up_seconds = std::max(all.warm_up_seconds, one.warm_up_seconds);
  all.gather_seconds = std::max(all.gather_seconds, one.gather_seconds);
}

}  // namespace spdnn
