#pragma once

#include <cstddef>

#include "spdnn/types.hpp"

namespace spdnn {

/// The largest batch, of at most `most` of the `images`, whose `bytes_of(batch)` fit the budget; 0 where not even one
/// image does. Where `most` do not fit, the batch is as small as it can be without more rounds.
template <class BytesOf>
Index largest_batch(Index most, Index images, std::size_t budget, BytesOf&& bytes_of) {
  const auto fits = [&](Index batch) { return bytes_of(batch) <= budget; };
  if (fits(most)) return most;
  Index fitting = 0;
  for (Index too_many = most; too_many - fitting > 1;) {
    const Index middle = fitting + (too_many - fitting) / 2;
    (fits(middle) ? fitting : too_many) = middle;
  }
  if (fitting == 0) return 0;
  const Index rounds = (images - 1) / fitting + 1;
  return (images - 1) / rounds + 1;
}

}  // namespace spdnn
