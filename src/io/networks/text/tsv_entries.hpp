#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_line.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The columns of a text of matrix entries: two 1-based ids, and a value unless `value` is empty.
struct EntryColumns {
  std::string first;
  Index first_limit;
  std::string second;
  Index second_limit;
  std::string value;
  std::string first_reason{};  ///< explains first_limit in messages
  bool symmetric = false;      ///< each entry off the diagonal also stands for its mirror image

  std::string expected() const { return first + ", " + second + (value.empty() ? "" : ", " + value); }
};

/// The entries of a piece of text, with 0-based ids. Storage is reused for the next piece.
struct Entries {
  std::unique_ptr<Index[]> first;
  std::unique_ptr<Index[]> second;
  std::unique_ptr<float[]> values;  ///< 1 if the text has no column of values
  std::size_t capacity = 0;
  std::size_t count = 0;
  std::size_t given = 0;               ///< number of entries in the text; the others are mirror images
  std::size_t lines = 0;               ///< lines read, blank ones included
  bool uniform = true;                 ///< all values have the same bits
  Index largest_first = 0;             ///< 0 if there are no entries
  std::optional<LineProblem> problem;  ///< the problem in the line after those read

  void reserve(std::size_t entries);
};

/// Parses a text that is cut at line ends. Stops at the first bad line, see Entries::problem.
void parse_entries(std::string_view text, const EntryColumns& columns, Entries& entries);

/// The number of threads for reading one file: one if files are read in parallel, otherwise all.
std::size_t reading_threads();

/// Parses the rest of the source in parallel pieces and passes them to `absorb` round by round, in text order, until it
/// returns false. `lines_before` were read earlier. Entries before a bad line are still passed on. Returns the problem
/// of the first bad line, whatever the number of threads.
std::optional<DataError> read_entries(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                                      const std::function<bool(std::span<const Entries>)>& absorb);

/// Combines the two 0-based ids of an entry into one number.
using EntryKey = std::uint64_t;
inline EntryKey entry_key(Index first, Index second) { return EntryKey{first} << 32 | second; }

/// Finds the first line that repeats one of the given entries, and throws a DataError for it, or for a file that was
/// changed in between so that none does. Slow: it reads again from the beginning, after `lines_before`.
[[noreturn]] void throw_repeated(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                                 const std::vector<EntryKey>& repeated);

}  // namespace spdnn
