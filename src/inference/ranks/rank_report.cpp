#include "inference/ranks/rank_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

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

}  // namespace spdnn
