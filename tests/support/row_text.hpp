#pragma once

// The text of a row of a table of models: words, numbers and lists.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cctype>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"

namespace spdnn::testing {

class RowText {
 protected:
  explicit RowText(std::string_view text) : left_(text) {}

  bool at_end() {
    take('\0');
    return left_.empty();
  }
  bool at(char one) const { return !left_.empty() && left_.front() == one; }
  /// Whether the text goes on with it, after blanks, which are left out.
  bool take(char one) {
    while (!left_.empty() && left_.front() == ' ') left_.remove_prefix(1);
    if (left_.empty() || left_.front() != one) return false;
    left_.remove_prefix(1);
    return true;
  }
  void expect(char one) {
    if (!take(one)) throw std::invalid_argument(fmt::format("expected {} at: {}", one, left_));
  }
  template <class Is>
  std::string while_is(const Is& is) {
    take('\0');
    std::size_t n = 0;
    while (n < left_.size() && is(left_[n])) ++n;
    const std::string found(left_.substr(0, n));
    left_.remove_prefix(n);
    return found;
  }
  std::string word() {
    return while_is([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
  }
  std::string number() {
    return while_is([](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-'; });
  }
  std::int64_t integer() { return std::stoll(number()); }
  template <class Number, class Read>
  std::vector<Number> list(char open, char close, const Read& read) {
    std::vector<Number> all;
    expect(open);
    while (!take(close)) {
      all.push_back(static_cast<Number>(read(number())));
      take(',');
    }
    return all;
  }
  std::vector<std::int64_t> integers(char open, char close) {
    return list<std::int64_t>(open, close, [](const std::string& text) { return std::stoll(text); });
  }

 private:
  std::string_view left_;
};

/// `2 x 3: 0 0.5 ...`, what the model that read() gives computes of input_of(shape) for each of its inputs, with ` | `
/// between its outputs, or why it is refused.
template <class Read, class InputOf>
std::string outcome_of(const Read& read, const InputOf& input_of) {
  try {
    const Model model = read();
    std::vector<Tensor> inputs;
    for (const ValueId id : model.inputs) inputs.push_back(input_of(model.values[id].shape));
    std::string text;
    for (const Bounded& output : evaluate(model, inputs)) {
      text += (text.empty() ? "" : " | ") + shape_text(output.shape) + ":";
      for (const double value : output.values) text += fmt::format(" {:.6g}", value + 0.0);  // -0 is 0
    }
    return text;
  } catch (const Error& error) {
    const std::string_view all = error.what();
    return std::string(all.substr(all.find(": ") + 2));
  }
}

/// Expects below each row of a table, indented, what `outcome` makes of it.
template <class Outcome>
void expect_rows(const std::filesystem::path& path, int least, const Outcome& outcome) {
  std::ifstream table(path);
  ASSERT_TRUE(table);
  int rows = 0;
  std::string expected;
  for (std::string row; std::getline(table, row) && std::getline(table, expected); ++rows)
    EXPECT_EQ("  " + outcome(row), expected) << row;
  EXPECT_GT(rows, least);
}

}  // namespace spdnn::testing
