#include "io/networks/text/csr_builder.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

bool ascends(Index row, Index col, Index next_row, Index next_col) {
  return next_row > row || (next_row == row && next_col > col);
}

bool same_bits(float a, float b) { return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b); }

}  // namespace

void CsrBuilder::add(std::span<const Entries> round) {
  std::vector<std::size_t> begin{cols_.size()};
  for (const Entries& entries : round) begin.push_back(begin.back() + entries.count);
  const std::size_t before = begin.front();
  if (begin.back() == before) return;

  add_values(round, begin);
  if (sorted_ && !continues_sorted(round)) give_up_sorted(before);
  if (sorted_) count_rows(round);
  cols_.grow(begin.back());
  if (!sorted_) rows_.grow(begin.back());
  parallel_for(round.size(), [&](std::size_t i) {
    std::copy_n(cols_of(round[i]), round[i].count, cols_.data() + begin[i]);
    if (!sorted_) std::copy_n(rows_of(round[i]), round[i].count, rows_.data() + begin[i]);
  });
}

bool CsrBuilder::continues_sorted(std::span<const Entries> round) const {
  std::atomic<bool> sorted = true;
  parallel_for(round.size(), [&](std::size_t i) {
    const Index* const rows = rows_of(round[i]);
    const Index* const cols = cols_of(round[i]);
    bool good = true;
    for (std::size_t k = 1; k < round[i].count; ++k) good &= ascends(rows[k - 1], cols[k - 1], rows[k], cols[k]);
    if (!good) sorted = false;
  });
  bool started = cols_.size() > 0;
  Index row = last_row_;
  Index col = last_col_;
  for (const Entries& entries : round) {
    if (entries.count == 0) continue;
    if (started && !ascends(row, col, rows_of(entries)[0], cols_of(entries)[0])) return false;
    started = true;
    row = rows_of(entries)[entries.count - 1];
    col = cols_of(entries)[entries.count - 1];
  }
  return sorted;
}

/// A row may continue from one piece into the next. The first row of every piece is therefore added afterwards, by one
/// thread; all other rows belong to a single piece.
void CsrBuilder::count_rows(std::span<const Entries> round) {
  for (const Entries& entries : round) {
    if (entries.count == 0) continue;
    last_row_ = rows_of(entries)[entries.count - 1];
    last_col_ = cols_of(entries)[entries.count - 1];
  }
  if (degrees_.size() < std::size_t{last_row_} + 2) degrees_.resize(std::size_t{last_row_} + 2);
  std::vector<Offset> first_rows(round.size());
  parallel_for(round.size(), [&](std::size_t i) {
    const Index* const rows = rows_of(round[i]);
    for (std::size_t begin = 0, end = 0; begin < round[i].count; begin = end) {
      while (end < round[i].count && rows[end] == rows[begin]) ++end;
      (begin == 0 ? first_rows[i] : degrees_[std::size_t{rows[begin]} + 1]) = end - begin;
    }
  });
  for (std::size_t i = 0; i < round.size(); ++i)
    if (round[i].count > 0) degrees_[std::size_t{rows_of(round[i])[0]} + 1] += first_rows[i];
}

/// From here on the row of each entry is stored; the rows of the first `entries` follow from the degrees.
void CsrBuilder::give_up_sorted(std::size_t entries) {
  sorted_ = false;
  rows_.grow(entries);
  Index* row = rows_.data();
  for (std::size_t i = 0; i + 1 < degrees_.size(); ++i) row = std::fill_n(row, degrees_[i + 1], static_cast<Index>(i));
  degrees_ = {};
}

void CsrBuilder::add_values(std::span<const Entries> round, std::span<const std::size_t> begin) {
  if (begin.front() == 0) {
    const auto first =
        std::find_if(round.begin(), round.end(), [](const Entries& entries) { return entries.count > 0; });
    value_ = first->values[0];
  }
  const auto same = [&](const Entries& entries) {
    return entries.count == 0 || (entries.uniform && same_bits(entries.values[0], value_));
  };
  if (uniform_ && std::all_of(round.begin(), round.end(), same)) return;
  values_.grow(begin.back());
  if (std::exchange(uniform_, false)) std::fill_n(values_.data(), begin.front(), value_);
  parallel_for(round.size(),
               [&](std::size_t i) { std::copy_n(round[i].values.get(), round[i].count, values_.data() + begin[i]); });
}

CsrMatrix CsrBuilder::finish(Index rows, Index cols) {
  CsrMatrix matrix{.rows = rows, .cols = cols};
  std::vector<Offset> offsets = std::move(degrees_);
  offsets.resize(std::size_t{rows} + 1);
  if (sorted_)
    std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  else
    sort(offsets);
  matrix.offsets = Array<Offset>(std::move(offsets));
  matrix.indices = cols_.freeze();
  matrix.values = values_.freeze();
  if (uniform_) matrix.value = value_;
  return matrix;
}

/// Sorts by row with a counting sort, which is stable, then each row by column. Every thread reads the rows of all
/// entries and moves those in its own range of rows, so reads are sequential and writes are disjoint.
void CsrBuilder::sort(std::vector<Offset>& offsets) {
  const std::size_t entries = rows_.size();
  for (std::size_t k = 0; k < entries; ++k) ++offsets[std::size_t{rows_[k]} + 1];
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());

  GrowingArray<Index> cols;
  GrowingArray<float> values;
  cols.grow(entries);
  if (!uniform_) values.grow(entries);
  std::vector<Offset> next(offsets.begin(), offsets.end() - 1);
  constexpr std::size_t kGrain = std::size_t{1} << 15;  // entries per additional thread
  const std::size_t threads = std::min(reading_threads(), entries / kGrain + 1);
  parallel_ranges(next.size(), threads, [&](auto, std::size_t begin, std::size_t end) {
    for (std::size_t k = 0; k < entries; ++k) {
      if (rows_[k] < begin || rows_[k] >= end) continue;
      const Offset slot = next[rows_[k]]++;
      cols[slot] = cols_[k];
      if (!uniform_) values[slot] = values_[k];
    }
  });
  rows_ = {};
  cols_ = std::move(cols);
  values_ = std::move(values);

  constexpr std::size_t kRangesPerThread = 8;  // for balance, as rows differ in length
  parallel_ranges(next.size(), threads == 1 ? 1 : kRangesPerThread * threads,
                  [&](auto, std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i)
                      sort_row(static_cast<Index>(i), offsets[i], offsets[i + 1]);
                  });
}

void CsrBuilder::sort_row(Index row, Offset begin, Offset end) {
  Index* const cols = cols_.data();
  if (!std::is_sorted(cols + begin, cols + end)) {
    if (uniform_) {
      std::sort(cols + begin, cols + end);
    } else {
      std::vector<std::pair<Index, float>> pairs(end - begin);
      for (Offset k = begin; k < end; ++k) pairs[k - begin] = {cols[k], values_[k]};
      std::sort(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
      for (Offset k = begin; k < end; ++k) std::tie(cols[k], values_[k]) = pairs[k - begin];
    }
  }
  for (Offset k = begin; k + 1 < end; ++k) {
    if (cols[k] != cols[k + 1]) continue;
    const std::lock_guard lock(mutex_);
    repeated_.push_back(row_ == Row::first ? entry_key(row, cols[k]) : entry_key(cols[k], row));
  }
}

}  // namespace spdnn
