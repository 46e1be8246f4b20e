#include "engines/cuda/spmm/work_items.hpp"

#include <algorithm>
#include <numeric>

namespace spdnn {

WorkList rows_by_length(const CsrMatrix& weights) {
  const auto longer = [&](Index a, Index b) { return weights.degree(a) > weights.degree(b); };
  std::vector<Index> order(weights.rows);
  std::iota(order.begin(), order.end(), 0);
  WorkList list;
  if (std::is_sorted(order.begin(), order.end(), longer)) return list;
  std::stable_sort(order.begin(), order.end(), longer);
  list.items.reserve(order.size());
  for (const Index row : order) list.items.push_back({.row = row});
  return list;
}

WorkList equal_shares(const CsrMatrix& weights, Index share) {
  WorkList list;
  Offset open = 0;  // rows and terms in the last item; 0: none is open
  for (Index row = 0; row < weights.rows; ++row) {
    const Offset degree = weights.degree(row);
    if (degree > share) {
      CutRow cut{row, list.pieces, 0};
      for (Offset first = 0; first < degree; first += share, ++cut.pieces)
        list.items.push_back({.row = row,
                              .rows = 1,
                              .piece = list.pieces++,
                              .first = narrow<Index>(first),
                              .terms = narrow<Index>(std::min<Offset>(share, degree - first))});
      list.cuts.push_back(cut);
      open = 0;
    } else if (open > 0 && open + degree + 1 <= share) {
      ++list.items.back().rows;
      open += degree + 1;
    } else {
      list.items.push_back({.row = row});
      open = degree + 1;
    }
  }
  return list;
}

}  // namespace spdnn
