#include "engines/cuda/spmm/work_items.hpp"

#include <xxhash.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <tuple>

#include "core/threads/parallel.hpp"

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

WorkList rows_by_inputs(const CsrMatrix& weights) {
  struct Key {
    Offset degree;
    std::uint64_t hash;
    Index row;
  };
  std::vector<Key> keys(weights.rows);
  for (Index row = 0; row < weights.rows; ++row) {
    const auto inputs = weights.row(row);
    keys[row] = {inputs.size(), XXH3_64bits(inputs.data(), inputs.size_bytes()), row};
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(b.degree, a.hash, a.row) < std::tie(a.degree, b.hash, b.row);
  });
  WorkList list;
  Index open = SharedRows::kMost;  // rows in the last entry
  for (const Key& key : keys) {
    const auto equal = [&](Index other) {
      const auto mine = weights.row(key.row);
      const auto its = weights.row(other);
      return std::equal(mine.begin(), mine.end(), its.begin(), its.end());
    };
    if (open == SharedRows::kMost || !equal(list.shared.back().rows.front())) {
      list.shared.emplace_back().rows.fill(SharedRows::kNone);
      open = 0;
    }
    list.shared.back().rows[open++] = key.row;
  }
  return list;
}

double share_of_reads(const Plan& plan) {
  if (plan.streamed || plan.depth() == 0) return 1.0;
  const std::array<Index, 3> sample{0, plan.depth() / 2, plan.depth() - 1};
  std::array<Offset, sample.size()> reads{};
  std::array<Offset, sample.size()> terms{};
  parallel_for(sample.size(), [&](std::size_t i) {
    const CsrMatrix& weights = plan.layers[sample[i]].weights;
    for (const SharedRows& shared : rows_by_inputs(weights).shared) reads[i] += weights.degree(shared.rows.front());
    terms[i] = weights.entries();
  });
  const auto sum = [](const auto& all) { return std::accumulate(all.begin(), all.end(), Offset{0}); };
  return sum(terms) == 0 ? 1.0 : static_cast<double>(sum(reads)) / static_cast<double>(sum(terms));
}

namespace {

/// The number of inputs of every neuron, if it is the same for all.
std::optional<Offset> equal_degree(const Plan& plan, Index k) {
  if (plan.streamed) return plan.shape(k).degree;
  const CsrMatrix& weights = plan.layers[k].weights;
  for (Index row = 1; row < weights.rows; ++row)
    if (weights.degree(row) != weights.degree(0)) return std::nullopt;
  return weights.rows == 0 ? 0 : weights.degree(0);
}

WorkSize work_size(const Plan& plan, Index k, Index cut_at) {
  const LayerShape shape = plan.shape(k);
  const auto degree = equal_degree(plan, k);
  if (cut_at == 0) return {.items = degree ? 0 : std::size_t{shape.outputs}, .cuts = 0, .pieces = 0};
  if (degree && *degree <= cut_at) return {.items = shape.outputs, .cuts = 0, .pieces = 0};
  const std::size_t whole_pieces = shape.edges / cut_at;
  const std::size_t cuts = std::min<std::size_t>(shape.outputs, whole_pieces);
  return {.items = shape.outputs + whole_pieces, .cuts = cuts, .pieces = whole_pieces + cuts};
}

}  // namespace

WorkSize most_work(const Plan& plan, Index cut_at) {
  WorkSize most;
  for (Index k = 0; k < plan.depth(); ++k) {
    const WorkSize one = work_size(plan, k, cut_at);
    most = {std::max(most.items, one.items), std::max(most.cuts, one.cuts), std::max(most.pieces, one.pieces)};
  }
  return most;
}

WorkSize all_work(const Plan& plan, Index cut_at) {
  WorkSize all;
  for (Index k = 0; k < plan.depth(); ++k) {
    const WorkSize one = work_size(plan, k, cut_at);
    all = {all.items + one.items, all.cuts + one.cuts, std::max(all.pieces, one.pieces)};
  }
  return all;
}

}  // namespace spdnn
