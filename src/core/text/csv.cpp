#include "core/text/csv.hpp"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

bool is_number(const std::string& text) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

/// Spreadsheets interpret text with this beginning as a formula, and run it.
bool is_formula(const std::string& text) {
  const std::size_t first = text.find_first_not_of(' ');
  return first != std::string::npos && std::string_view("=+-@\t\r\n").find(text[first]) != std::string_view::npos &&
         !is_number(text);
}

class CsvReader {
 public:
  CsvReader(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  std::vector<CsvRecord> records() {
    std::vector<CsvRecord> all;
    while (at_ < text_.size()) all.push_back(record());
    return all;
  }

 private:
  CsvRecord record() {
    CsvRecord fields;
    do {
      fields.push_back(field());
    } while (take(','));
    take('\r');
    if (at_ < text_.size() && !take('\n')) fail("expected a comma or the end of the line");
    return fields;
  }

  CsvField field() {
    CsvField field{{}, line_, column()};
    if (!take('"')) {
      while (at_ < text_.size() && text_[at_] != ',' && text_[at_] != '\n' && text_[at_] != '\r') field.text += next();
      return field;
    }
    while (true) {
      if (at_ >= text_.size())
        throw DataError(fmt::format("{}:{}:{}: a quotation that does not end", name_, field.line, field.column));
      const char c = next();
      if (c != '"')
        field.text += c;
      else if (take('"'))
        field.text += '"';
      else
        return field;
    }
  }

  char next() {
    if (text_[at_] == '\0') fail("a byte 0, expected text");
    const char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      line_begin_ = at_;
    }
    return c;
  }

  bool take(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    next();
    return true;
  }

  std::size_t column() const { return at_ - line_begin_ + 1; }

  [[noreturn]] void fail(const char* problem) const {
    throw DataError(fmt::format("{}:{}:{}: {}", name_, line_, column(), problem));
  }

  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  std::size_t line_begin_ = 0;
};

}  // namespace

std::string csv_field(const std::string& text) {
  const bool formula = is_formula(text);
  if (!formula && text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = formula ? "\"'" : "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + "\"";
}

std::vector<CsvRecord> read_csv(const std::string& name, std::string_view text) {
  return CsvReader(name, text).records();
}

}  // namespace spdnn
