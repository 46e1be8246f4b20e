#include "inference/ranks/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "core/system/machine_names.hpp"

namespace spdnn {

RankSpreads spreads_of(const std::vector<RankTimes>& times) {
  const auto over_ranks = [&](auto member) {
    std::vector<double> values;
    values.reserve(times.size());
    for (const RankTimes& rank : times) values.push_back(static_cast<double>(rank.*member));
    return spread(std::move(values));
  };
  std::set<std::string> hosts;
  for (const RankTimes& rank : times) hosts.insert(rank.host);
  const auto is_faster = [](const RankTimes& a, const RankTimes& b) { return a.infer_seconds < b.infer_seconds; };
  const auto slowest = std::max_element(times.begin(), times.end(), is_faster);
  const bool counts = std::any_of(times.begin(), times.end(), [](const RankTimes& rank) { return rank.taken > 0; });
  return {.ranks = static_cast<int>(times.size()),
          .hosts = static_cast<int>(hosts.size()),
          .images = over_ranks(&RankTimes::images),
          .upload = over_ranks(&RankTimes::upload_seconds),
          .infer = over_ranks(&RankTimes::infer_seconds),
          .taken = counts ? std::optional(over_ranks(&RankTimes::taken)) : std::nullopt,
          .slowest = static_cast<int>(slowest - times.begin()),
          .slowest_host = slowest->host};
}

std::optional<std::string> note_on_slowest(const RankSpreads& ranks) {
  constexpr double kFar = 1.3;
  constexpr double kLongerSeconds = 0.1;
  const auto ratio = ranks.slowest_over_median();
  if (!ratio || *ratio <= kFar || ranks.infer.max - ranks.infer.median < kLongerSeconds) return std::nullopt;
  return fmt::format("rank {} on {} took {:.2f} times the median of the ranks' infer, {:.3f} s", ranks.slowest,
                     ranks.slowest_host, *ratio, ranks.infer.max);
}

namespace {

/// Adds the notes that `all` has not.
void add_new(std::vector<std::string>& all, const std::vector<std::string>& notes) {
  for (const std::string& note : notes)
    if (std::find(all.begin(), all.end(), note) == all.end()) all.push_back(note);
}

constexpr double LoopTimes::*kTimes[] = {&LoopTimes::upload_seconds, &LoopTimes::load_seconds,
                                         &LoopTimes::warm_up_seconds, &LoopTimes::gather_seconds,
                                         &LoopTimes::interrupted_seconds};

}  // namespace

RankReport rank_report_of(const LoopResult& result, Index images) {
  return {{host_name(), images, result.upload_seconds, spread(result.infer_seconds).median},
          result,
          result.batch,
          result.notes};
}

void take_longest(std::vector<double>& all, const std::vector<double>& one) {
  if (all.size() < one.size()) all.resize(one.size());
  for (std::size_t i = 0; i < one.size(); ++i) all[i] = std::max(all[i], one[i]);
}

void take_longest(LoopResult& all, const RankReport& one) {
  take_longest(all.infer_seconds, one.loop.infer_seconds);
  for (double LoopTimes::*seconds : kTimes) all.*seconds = std::max(all.*seconds, one.loop.*seconds);
  all.batch = std::max(all.batch, one.batch);
  add_new(all.notes, one.notes);
}

void add_times(LoopResult& all, const LoopResult& piece) {
  all.infer_seconds.resize(piece.infer_seconds.size());
  for (std::size_t trial = 0; trial < piece.infer_seconds.size(); ++trial)
    all.infer_seconds[trial] += piece.infer_seconds[trial];
  for (double LoopTimes::*seconds : kTimes) all.*seconds += piece.*seconds;
  all.batch = std::max(all.batch, piece.batch);
  all.batches.insert(all.batches.end(), piece.batches.begin(), piece.batches.end());
  add_new(all.notes, piece.notes);
}

}  // namespace spdnn
