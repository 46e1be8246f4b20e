#pragma once

#include <vector>

#include "cluster/communicator.hpp"
#include "cluster/partition.hpp"
#include "inference/run/work.hpp"

namespace spdnn::testing {

/// A rank's part of each piece of work.
inline std::vector<Work> dealt_work(const RankPlace& place, const std::vector<Work>& all) {
  std::vector<Work> mine;
  for (const Work& work : all) {
    const std::vector<Index> rows = images_dealt_to(work.images.images(), place.rank, place.ranks);
    mine.push_back({work.layer, {}, work.images.select(rows)});
    for (const Index row : rows) mine.back().ids.push_back(work.id(row));
  }
  return mine;
}

}  // namespace spdnn::testing
