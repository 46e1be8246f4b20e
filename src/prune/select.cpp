#include "prune/select.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

Index digits_in(std::string_view text) {
  Index number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size() ? number : 0;
}

/// Marks the `keep` entries with the highest scores among `entries`, which ascend; of equal ones the first.
void mark_highest(std::span<const float> scores, std::vector<Offset>& entries, std::size_t keep,
                  std::vector<char>& marked) {
  if (keep < entries.size())
    std::nth_element(entries.begin(), entries.begin() + static_cast<std::ptrdiff_t>(keep), entries.end(),
                     [&](Offset a, Offset b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  for (std::size_t i = 0; i < std::min(keep, entries.size()); ++i) marked[entries[i]] = 1;
}

/// The entries of a row, first to last.
std::vector<Offset> entries_of(const CsrMatrix& weights, Index row) {
  std::vector<Offset> entries(weights.degree(row));
  std::iota(entries.begin(), entries.end(), weights.offsets[row]);
  return entries;
}

void mark_n_of_m(const CsrMatrix& weights, std::span<const float> scores, const Structure& structure, Index taps,
                 Index row, std::vector<char>& marked) {
  const Offset groups = (Offset{weights.cols} / taps + structure.m - 1) / structure.m;
  std::vector<std::vector<Offset>> by_group(groups * taps);
  for (const Offset entry : entries_of(weights, row)) {
    const Index column = weights.indices[entry];
    by_group[column % taps * groups + column / taps / structure.m].push_back(entry);
  }
  for (std::vector<Offset>& entries : by_group) mark_highest(scores, entries, structure.n, marked);
}

CsrMatrix marked_entries(const CsrMatrix& weights, const std::vector<char>& marked) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> values;
  for (Index row = 0; row < weights.rows; ++row) {
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k) {
      if (marked[k] == 0) continue;
      indices.push_back(weights.indices[k]);
      values.push_back(weights.entry_value(k));
    }
    offsets.push_back(indices.size());
  }
  return make_csr(weights.rows, weights.cols, std::move(offsets), std::move(indices), std::move(values));
}

}  // namespace

Structure parse_structure(std::string_view text) {
  if (text == "free") return {};
  if (text == "uniform") return {Structure::Kind::uniform};
  const std::size_t colon = text.find(':');
  if (colon != std::string_view::npos) {
    const Structure structure{Structure::Kind::n_of_m, digits_in(text.substr(0, colon)),
                              digits_in(text.substr(colon + 1))};
    if (structure.n > 0 && structure.n < structure.m) return structure;
  }
  throw UsageError("pattern", fmt::format("'{}' is neither free, uniform nor N:M with 0 < N < M, such as 2:4", text));
}

std::string to_string(const Structure& structure) {
  if (structure.kind == Structure::Kind::n_of_m) return fmt::format("{}:{}", structure.n, structure.m);
  return structure.kind == Structure::Kind::uniform ? "uniform" : "free";
}

std::vector<float> scores_of(const CsrMatrix& weights, std::span<const float> factors, Index groups) {
  const Index rows_of_group = std::max<Index>(weights.rows / groups, 1);
  std::vector<float> scores(weights.entries());
  for (Index row = 0; row < weights.rows; ++row) {
    const std::size_t first = factors.empty() ? 0 : std::size_t{row / rows_of_group} * weights.cols;
    for (Offset k = weights.offsets[row]; k < weights.offsets[std::size_t{row} + 1]; ++k)
      scores[k] = std::abs(weights.entry_value(k)) * (factors.empty() ? 1.0F : factors[first + weights.indices[k]]);
  }
  return scores;
}

CsrMatrix kept(const CsrMatrix& weights, std::span<const float> scores, const Structure& structure, Offset keep,
               Index taps) {
  std::vector<char> marked(weights.entries());
  if (structure.kind == Structure::Kind::free) {
    std::vector<Offset> all(weights.entries());
    std::iota(all.begin(), all.end(), Offset{0});
    mark_highest(scores, all, keep, marked);
    return marked_entries(weights, marked);
  }
  const Offset of_row = weights.rows == 0 ? 0 : std::max<Offset>((keep + weights.rows / 2) / weights.rows, 1);
  for (Index row = 0; row < weights.rows; ++row) {
    if (structure.kind == Structure::Kind::n_of_m) {
      mark_n_of_m(weights, scores, structure, taps, row, marked);
    } else {
      std::vector<Offset> entries = entries_of(weights, row);
      mark_highest(scores, entries, of_row, marked);
    }
  }
  return marked_entries(weights, marked);
}

std::vector<Offset> shared_out(const std::vector<std::vector<float>>& scores, Offset keep) {
  std::vector<float> all;
  std::vector<Offset> ends;
  for (const std::vector<float>& layer : scores) {
    all.insert(all.end(), layer.begin(), layer.end());
    ends.push_back(all.size());
  }
  std::vector<Offset> entries(all.size());
  std::iota(entries.begin(), entries.end(), Offset{0});
  std::vector<char> marked(all.size());
  mark_highest(all, entries, keep, marked);
  std::vector<Offset> counts;
  Offset first = 0;
  for (const Offset end : ends) {
    counts.push_back(std::accumulate(marked.begin() + static_cast<std::ptrdiff_t>(first),
                                     marked.begin() + static_cast<std::ptrdiff_t>(end), Offset{0}));
    first = end;
  }
  return counts;
}

}  // namespace spdnn
