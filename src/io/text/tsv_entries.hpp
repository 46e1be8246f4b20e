#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/text/source.hpp"
#include "io/text/tsv_line.hpp"
#include "spdnn/error.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The columns of a text of matrix entries: two 1-based ids, and a value where `value` is not empty.
struct EntryColumns {
  std::string first;
  Index first_limit;
  std::string second;
  Index second_limit;
  std::string value;
  std::string first_reason{};  ///< says in messages where first_limit comes from
  bool symmetric = false;      ///< each entry off the diagonal stands for its mirror image as well

  std::string expected() const { return first + ", " + second + (value.empty() ? "" : ", " + value); }
};

/// The entries of a piece of text, with 0-based ids. Storage is kept and reused for the next piece.
struct Entries {
  std::unique_ptr<Index[]> first;
  std::unique_ptr<Index[]> second;
  std::unique_ptr<float[]> values;  ///< 1 where the text has no column of values
  std::size_t capacity = 0;
  std::size_t count = 0;
  std::size_t given = 0;               ///< how many of them are in the text; the others are mirror images
  std::size_t lines = 0;               ///< lines read, blank ones included
  bool uniform = true;                 ///< all values have the same bits as values[0]
  Index largest_first = 0;             ///< 0 where there is none
  std::optional<LineProblem> problem;  ///< what is wrong with the line after those read

  void reserve(std::size_t entries);
};

/// Parses a text that is cut at the ends of lines. Strict: it stops at the first bad line, see Entries::problem.
void parse_entries(std::string_view text, const EntryColumns& columns, Entries& entries);

/// The number of threads for reading one file: one where files are read in parallel, otherwise all.
std::size_t reading_threads();

/// Parses what is left of the source, in parallel pieces, and hands them to `absorb` round by round, in the order of
/// the text, until it returns false. `lines_before` were read earlier. Entries before a bad line are still handed over.
/// Returns what is wrong with the first bad line of the text, whatever the number of threads.
std::optional<DataError> read_entries(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                                      const std::function<bool(std::span<const Entries>)>& absorb);

/// The two 0-based ids of an entry in one number.
using EntryKey = std::uint64_t;
inline EntryKey entry_key(Index first, Index second) { return EntryKey{first} << 32 | second; }

/// Finds the first line that repeats one of the entries known to be given twice, and throws a DataError for it. Slow,
/// as it reads from the beginning, after `lines_before`.
[[noreturn]] void throw_repeated(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                                 const std::vector<EntryKey>& repeated);

}  // namespace spdnn
