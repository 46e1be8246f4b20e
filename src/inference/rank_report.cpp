#include "inference/rank_report.hpp"

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
  return {static_cast<int>(times.size()), static_cast<int>(hosts.size()), over_ranks(&RankTimes::images),
          over_ranks(&RankTimes::upload_seconds), over_ranks(&RankTimes::infer_seconds)};
}

}  // namespace spdnn
