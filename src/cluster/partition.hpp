#pragma once

#include "spdnn/types.hpp"

namespace spdnn {

/// Images first .. first+count-1 of one rank.
struct ImageRange {
  Index first = 0;
  Index count = 0;
};

/// The images of a rank: consecutive, those of rank after rank, and of any two ranks one has at most one more than the
/// other. With more ranks than images some have none.
inline ImageRange images_of_rank(Index images, int rank, int ranks) {
  const auto begin = [&](int number) {
    return static_cast<Index>(Offset{images} * static_cast<Offset>(number) / static_cast<Offset>(ranks));
  };
  return {begin(rank), begin(rank + 1) - begin(rank)};
}

}  // namespace spdnn
