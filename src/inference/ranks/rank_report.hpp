#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cluster/fields.hpp"
#include "inference/run/batch_loop.hpp"
#include "spdnn/run_record.hpp"

namespace spdnn {

/// The times of one rank.
struct RankTimes {
  std::string host;
  Index images = 0;
  double upload_seconds = 0;
  double infer_seconds = 0;  ///< the median of its trials
  Index taken = 0;           ///< batches or tiles, where ranks take them from a counter
};
void fields(auto& archive, MaybeConst<RankTimes> auto& times) {
  archive(times.host, times.images, times.upload_seconds, times.infer_seconds, times.taken);
}
/// min, median and max over the ranks, and which is the slowest. Not of no ranks.
RankSpreads spreads_of(const std::vector<RankTimes>& times);
/// A note on the slowest rank, if its infer is more than 1.3 times the median and longer by 0.1 s; in shorter runs such
/// differences are noise.
std::optional<std::string> note_on_slowest(const RankSpreads& ranks);

/// A rank's report to the root on its run, of a network or a model.
struct RankReport {
  RankTimes times;
  LoopTimes loop;
  Index batch = 0;
  std::vector<std::string> notes;
};
void fields(auto& archive, MaybeConst<RankReport> auto& report) {
  archive(report.times, report.loop.infer_seconds, report.loop.upload_seconds, report.loop.load_seconds,
          report.loop.warm_up_seconds, report.loop.gather_seconds, report.loop.interrupted_seconds, report.batch,
          report.notes);
}

/// The report of this rank, which ran `images`.
RankReport rank_report_of(const LoopResult& result, Index images);
/// Merges another rank's report: the maximum of each time, and new notes.
void take_longest(LoopResult& all, const RankReport& one);
/// Keeps the maximum for each trial, or for each node.
void take_longest(std::vector<double>& all, const std::vector<double>& one);

/// Adds the times of another piece of the same rank's work, and its notes.
void add_times(LoopResult& all, const LoopResult& piece);

}  // namespace spdnn
