#include "io/networks/text/tsv_entries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "core/threads/crew.hpp"
#include "core/threads/parallel.hpp"

namespace spdnn {

namespace {

constexpr std::ptrdiff_t kLongestPlainValue = 64;

/// The text of the latest value with its LF, compared as two words, because official files repeat one value.
class LatestValue {
 public:
  static constexpr std::size_t kReach = 16;  ///< bytes that matches() reads

  bool matches(const char* text) const {
    const auto [low, high] = load(text);
    return (low & masks_[0]) == words_[0] && (high & masks_[1]) == words_[1];
  }
  std::size_t length() const { return length_; }
  float value() const { return value_; }

  /// Stores `text` up to and including its LF. kReach bytes of it must be readable.
  void remember(const char* text, std::size_t length, float value) {
    if (length > kReach) return;
    const auto mask = [](std::size_t bytes) { return bytes >= 8 ? ~0ULL : (1ULL << (8 * bytes)) - 1; };
    masks_[0] = mask(length);
    masks_[1] = mask(length - std::min<std::size_t>(length, 8));
    const auto [low, high] = load(text);
    words_[0] = low & masks_[0];
    words_[1] = high & masks_[1];
    length_ = length;
    value_ = value;
  }

 private:
  static std::pair<std::uint64_t, std::uint64_t> load(const char* text) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t words[2];
    std::memcpy(words, text, kReach);
    return {words[0], words[1]};
  }

  std::uint64_t words_[2] = {1, 1};  ///< with masks of zero: matches nothing
  std::uint64_t masks_[2] = {0, 0};
  std::size_t length_ = 0;
  float value_ = 0.0F;
};

/// One parsed entry, and the end of its line. `next` is null if the line is not plain and needs the careful parser.
struct PlainLine {
  const char* next = nullptr;
  Index first = 0;
  Index second = 0;
  float value = 1.0F;
};

/// Reads the digits at `text`, which must be followed by another character. No digits, or more than ten, give 0.
inline const char* read_digits(const char* text, std::uint64_t& id) {
  const char* const begin = text;
  std::uint64_t sum = 0;
  for (unsigned digit = 0; (digit = static_cast<unsigned char>(*text) - unsigned{'0'}) <= 9; ++text)
    sum = sum * 10 + digit;
  id = text - begin <= 10 ? sum : 0;
  return text;
}

/// The end of the line if nothing else follows, otherwise null.
inline const char* line_end(const char* text) { return *text == '\n' ? text + 1 : nullptr; }

/// Reads `id SEPARATOR id [SEPARATOR value] LF` with ids within the limits. The text up to `end` must end in LF, so
/// that every loop over the characters of a line stops within it.
template <bool kWithValue>
inline PlainLine read_plain(const char* text, const char* end, const EntryColumns& columns, LatestValue& latest) {
  std::uint64_t first = 0;
  std::uint64_t second = 0;
  PlainLine line;
  text = read_digits(text, first);
  if (!is_separator(*text)) return line;
  text = read_digits(text + 1, second);
  if (first - 1 >= columns.first_limit || second - 1 >= columns.second_limit) return line;
  line.first = static_cast<Index>(first - 1);
  line.second = static_cast<Index>(second - 1);
  if constexpr (!kWithValue) {
    line.next = line_end(text);
    return line;
  }
  if (!is_separator(*text)) return line;
  ++text;
  const bool comparable = static_cast<std::size_t>(end - text) >= LatestValue::kReach;
  if (comparable && latest.matches(text)) {
    line.next = text + latest.length();
    line.value = latest.value();
    return line;
  }
  const auto [after, error] = std::from_chars(text, end, line.value);
  if (error != std::errc{} || !std::isfinite(line.value) || after - text > kLongestPlainValue) return line;
  line.next = line_end(after);
  if (comparable && line.next != nullptr) latest.remember(text, static_cast<std::size_t>(line.next - text), line.value);
  return line;
}

/// The careful parser, which accepts any line. Returns false for a blank one.
bool read_line(std::string_view text, const EntryColumns& columns, PlainLine& line) {
  LineFields fields(text, {});
  if (fields.at_end()) return false;
  const std::string expected = columns.expected();
  fields = LineFields(text, expected);
  line.first = fields.next_id(columns.first, columns.first_limit, columns.first_reason);
  line.second = fields.next_id(columns.second, columns.second_limit);
  line.value = columns.value.empty() ? 1.0F : fields.next_real<float>(columns.value);
  fields.finish();
  return true;
}

/// Parses a text that ends in LF.
template <bool kWithValue>
void parse_lines(std::string_view text, const EntryColumns& columns, Entries& entries) {
  const char* position = text.data();
  const char* const end = position + text.size();
  Index* const first = entries.first.get();
  Index* const second = entries.second.get();
  float* const values = entries.values.get();
  std::size_t count = entries.count;
  std::size_t lines = entries.lines;
  Index largest = entries.largest_first;
  LatestValue latest;
  while (position < end) {
    PlainLine line = read_plain<kWithValue>(position, end, columns, latest);
    if (line.next == nullptr) {
      const auto* const lf =
          static_cast<const char*>(std::memchr(position, '\n', static_cast<std::size_t>(end - position)));
      const std::string_view whole(position, static_cast<std::size_t>(lf - position));
      bool blank = false;
      try {
        blank = !read_line(whole, columns, line);
      } catch (const LineProblem& problem) {
        entries.problem = problem;
        break;
      }
      position = lf + 1;
      ++lines;
      if (blank) continue;
    } else {
      position = line.next;
      ++lines;
    }
    first[count] = line.first;
    second[count] = line.second;
    values[count] = line.value;
    largest = std::max(largest, line.first);
    ++count;
  }
  entries.count = count;
  entries.lines = lines;
  entries.largest_first = largest;
}

void parse_any(std::string_view text, const EntryColumns& columns, Entries& entries) {
  if (columns.value.empty())
    parse_lines<false>(text, columns, entries);
  else
    parse_lines<true>(text, columns, entries);
}

bool all_bits_equal(const float* values, std::size_t count) {
  std::uint32_t differing = 0;
  for (std::size_t i = 1; i < count; ++i)
    differing |= std::bit_cast<std::uint32_t>(values[i]) ^ std::bit_cast<std::uint32_t>(values[0]);
  return differing == 0;
}

/// Appends the mirror images of the entries off the diagonal; capacity must suffice.
void mirror(Entries& entries) {
  for (std::size_t k = 0; k < entries.given; ++k) {
    entries.largest_first = std::max(entries.largest_first, entries.second[k]);
    if (entries.first[k] == entries.second[k]) continue;
    entries.first[entries.count] = entries.second[k];
    entries.second[entries.count] = entries.first[k];
    entries.values[entries.count++] = entries.values[k];
  }
}

/// Cuts the text into about `count` pieces at line ends.
std::vector<std::string_view> cut(std::string_view text, std::size_t count) {
  std::vector<std::string_view> pieces;
  const std::size_t bytes = text.size() / count + 1;
  while (!text.empty()) {
    std::size_t size = std::min(bytes, text.size());
    if (size < text.size()) size = std::min(text.find('\n', size - 1), text.size() - 1) + 1;
    pieces.push_back(text.substr(0, size));
    text.remove_prefix(size);
  }
  return pieces;
}

}  // namespace

void Entries::reserve(std::size_t entries) {
  if (entries <= capacity) return;
  first = std::make_unique_for_overwrite<Index[]>(entries);
  second = std::make_unique_for_overwrite<Index[]>(entries);
  values = std::make_unique_for_overwrite<float[]>(entries);
  capacity = entries;
}

void parse_entries(std::string_view text, const EntryColumns& columns, Entries& entries) {
  const std::size_t shortest_line = columns.value.empty() ? 4 : 6;  // "1 1 LF", "1 1 1 LF"
  entries.reserve((columns.symmetric ? 2 : 1) * (text.size() / shortest_line + 1));
  entries.count = entries.lines = 0;
  entries.largest_first = 0;
  entries.problem.reset();
  const std::size_t whole = text.rfind('\n') + 1;
  parse_any(text.substr(0, whole), columns, entries);
  if (whole < text.size() && !entries.problem) parse_any(std::string(text.substr(whole)) + '\n', columns, entries);
  entries.given = entries.count;
  if (columns.symmetric) mirror(entries);
  entries.uniform = all_bits_equal(entries.values.get(), entries.count);
}

std::size_t reading_threads() { return within_team() ? 1 : static_cast<std::size_t>(host_threads()); }

std::optional<DataError> read_entries(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                                      const std::function<bool(std::span<const Entries>)>& absorb) {
  const std::size_t threads = reading_threads();
  const std::size_t most_pieces =
      threads == 1 ? 1 : 16 * threads;  // more pieces than threads, as they take unequal times
  std::vector<Entries> round;
  for (;;) {
    const std::string_view text = source.next(most_pieces * source.piece_bytes());
    if (text.empty()) return std::nullopt;
    const auto pieces = cut(text, std::min(most_pieces, 8 * text.size() / source.piece_bytes() + 1));
    if (round.size() < pieces.size()) round.resize(pieces.size());
    parallel_for(pieces.size(), [&](std::size_t i) { parse_entries(pieces[i], columns, round[i]); });
    std::size_t good = 0;
    while (good < pieces.size() && !round[good].problem) lines_before += round[good++].lines;
    const bool bad = good < pieces.size();
    const bool more = absorb(std::span(round).first(good + (bad ? 1 : 0)));
    if (bad) return located(source.name(), lines_before + round[good].lines + 1, *round[good].problem);
    if (!more) return std::nullopt;
  }
}

void throw_repeated(TextSource& source, const EntryColumns& columns, std::size_t lines_before,
                    const std::vector<EntryKey>& repeated) {
  // An entry and its mirror image have one key.
  const auto key_of = [&](Index first, Index second) {
    return columns.symmetric ? entry_key(std::max(first, second), std::min(first, second)) : entry_key(first, second);
  };
  std::unordered_map<EntryKey, bool> seen;
  for (const EntryKey key : repeated)
    seen.emplace(key_of(static_cast<Index>(key >> 32), static_cast<Index>(key)), false);
  source.rewind();
  for_each_line(source, 0, [&](std::string_view text, std::size_t number) {
    PlainLine line;
    if (number <= lines_before || !read_line(text, columns, line)) return;
    const auto found = seen.find(key_of(line.first, line.second));
    if (found == seen.end() || !std::exchange(found->second, true)) return;
    throw LineProblem{1, fmt::format("{} {} and {} {} are given twice, expected once", columns.first, line.first + 1,
                                     columns.second, line.second + 1)};
  });
  throw DataError(source.name() + ": changed while it was being read: an entry was given twice, and is not any more");
}

}  // namespace spdnn
