#pragma once

#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "io/networks/text/growing_array.hpp"
#include "io/networks/text/tsv_entries.hpp"
#include "spdnn/csr_matrix.hpp"

namespace spdnn {

/// Builds a CSR matrix from entries in any order. Entries that arrive sorted by row, then by column, are stored
/// directly and take 4 bytes each, or 8 if values differ. Others are kept in order of arrival and sorted by counting at
/// the end, which takes the same memory again, plus 4 bytes each for the row. Columns of the result ascend within each
/// row.
class CsrBuilder {
 public:
  /// Which id of an entry is its row.
  enum class Row { first, second };
  explicit CsrBuilder(Row row) : row_(row) {}

  void add(std::span<const Entries> round);
  /// Builds the matrix and leaves the builder empty. Every row and column added must be inside it.
  CsrMatrix finish(Index rows, Index cols);
  /// The entries given more than once; valid after finish().
  const std::vector<EntryKey>& repeated() const { return repeated_; }

 private:
  const Index* rows_of(const Entries& entries) const {
    return row_ == Row::first ? entries.first.get() : entries.second.get();
  }
  const Index* cols_of(const Entries& entries) const {
    return row_ == Row::first ? entries.second.get() : entries.first.get();
  }
  bool continues_sorted(std::span<const Entries> round) const;
  void count_rows(std::span<const Entries> round);
  void give_up_sorted(std::size_t entries);
  void add_values(std::span<const Entries> round, std::span<const std::size_t> begin);
  void sort(std::vector<Offset>& offsets);
  void sort_row(Index row, Offset begin, Offset end);

  Row row_;
  bool sorted_ = true;
  Index last_row_ = 0;  ///< the row of the latest entry, while sorted
  Index last_col_ = 0;
  std::vector<Offset> degrees_;  ///< while sorted: degrees_[i + 1] is the number of entries in row i
  GrowingArray<Index> rows_;     ///< once unsorted: the row of each entry
  GrowingArray<Index> cols_;
  GrowingArray<float> values_;  ///< empty while all values are value_
  float value_ = 1.0F;
  bool uniform_ = true;
  std::mutex mutex_;  ///< guards repeated_
  std::vector<EntryKey> repeated_;
};

}  // namespace spdnn
