#include "io/networks/text/tsv_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "core/text/amounts.hpp"
#include "core/text/message.hpp"

namespace spdnn {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

bool is_whole_number(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::string quoted(std::string_view field) {
  constexpr std::size_t kShown = 32;
  return "'" + escaped(field.substr(0, kShown)) + (field.size() > kShown ? "...'" : "'");
}

DataError located(const std::string& name, std::size_t line, const LineProblem& problem) {
  return DataError(fmt::format("{}:{}:{}: {}", name, line, problem.column, problem.message));
}

void for_each_line(TextSource& source, std::size_t lines_before,
                   const std::function<void(std::string_view line, std::size_t number)>& parse) {
  const std::size_t round_bytes = source.piece_bytes();
  for (std::string_view text = source.next(round_bytes); !text.empty(); text = source.next(round_bytes)) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      try {
        parse(line, ++lines_before);
      } catch (const LineProblem& problem) {
        throw located(source.name(), lines_before, problem);
      }
      text.remove_prefix(std::min(line.size() + 1, text.size()));
    }
  }
}

LineFields::LineFields(std::string_view line, std::string_view expected) : line_(line), expected_(expected) {
  if (line.size() >= kLongestLine) throw LineProblem{1, fmt::format("a line of more than {} bytes", kLongestLine)};
  if (line_.ends_with('\r')) line_.remove_suffix(1);
  skip_separators();
}

void LineFields::skip_separators() {
  while (position_ < line_.size() && is_separator(line_[position_])) ++position_;
}

std::string_view LineFields::next() {
  if (at_end())
    throw LineProblem{line_.size() + 1, fmt::format("the line ends after {}, expected {}",
                                                    counted(fields_, "column", "columns"), expected_)};
  const std::size_t begin = position_;
  while (position_ < line_.size() && !is_separator(line_[position_])) ++position_;
  const std::string_view field = line_.substr(begin, position_ - begin);
  skip_separators();
  ++fields_;
  return field;
}

void LineFields::finish() const {
  if (at_end()) return;
  std::string_view field = line_.substr(position_);
  field = field.substr(0, std::min(field.find_first_of("\t "), field.size()));
  throw LineProblem{position_ + 1, fmt::format("extra column {}, expected {}", quoted(field), expected_)};
}

std::uint64_t LineFields::next_whole(std::string_view what, std::uint64_t least, std::uint64_t most,
                                     std::string_view reason) {
  const std::string_view field = next();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), number);
  const bool whole = error == std::errc{} && end == field.data() + field.size();
  if (whole && number >= least && number <= most) return number;
  if (is_whole_number(field) && field.size() <= 32)
    throw LineProblem{column(field), fmt::format("{} {} is outside {}..{}{}{}", what, field, least, most,
                                                 reason.empty() ? "" : " ", reason)};
  throw LineProblem{column(field), fmt::format("{} {} is not a whole number, expected one in {}..{}", what,
                                               quoted(field), least, most)};
}

Index LineFields::next_id(std::string_view what, Index limit, std::string_view reason) {
  return static_cast<Index>(next_whole(what, 1, limit, reason) - 1);
}

std::uint64_t LineFields::next_count(std::string_view what, std::uint64_t limit) {
  return next_whole(what, 0, limit, {});
}

template <class T>
T LineFields::next_real(std::string_view what) {
  const std::string_view field = next();
  const std::string_view digits = field.starts_with('+') ? field.substr(1) : field;
  T value{};
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error == std::errc::invalid_argument || end != digits.data() + digits.size() ||
      (digits.size() < field.size() && digits.starts_with('-')))
    throw LineProblem{column(field), fmt::format("{} {} is not a number, expected a finite one", what, quoted(field))};
  if (error == std::errc::result_out_of_range) {
    const std::string copy(digits);  // strtod distinguishes underflow, which is rounded, from overflow
    value = std::is_same_v<T, float> ? static_cast<T>(std::strtof(copy.c_str(), nullptr))
                                     : static_cast<T>(std::strtod(copy.c_str(), nullptr));
    if (std::isinf(value))
      throw LineProblem{column(field), fmt::format("{} {} is too large, expected at most {:.7g}", what, quoted(field),
                                                   std::numeric_limits<T>::max())};
  }
  if (!std::isfinite(value))
    throw LineProblem{column(field), fmt::format("{} {} is not finite, expected a number", what, quoted(field))};
  return value;
}

template float LineFields::next_real<float>(std::string_view);
template double LineFields::next_real<double>(std::string_view);

}  // namespace spdnn
