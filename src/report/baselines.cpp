#include "report/baselines.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <charconv>
#include <cmath>

#include "core/text/csv.hpp"
#include "core/text/message.hpp"
#include "data/official/constants.hpp"
#include "report/json_fields.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::array kColumns{"system",  "processor",        "count",   "neurons",  "layers", "images",
                              "seconds", "edges_per_second", "counted", "measured", "source"};

[[noreturn]] void fail(const std::string& name, const CsvField& field, const std::string& problem) {
  throw DataError(
      fmt::format("{}:{}:{}: '{}' {}", name, field.line, field.column, JsonFields::printable(field.text), problem));
}

std::optional<double> number_of(const std::string& name, const CsvField& field) {
  if (field.text.empty()) return std::nullopt;
  double value = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [stop, error] = std::from_chars(field.text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value <= 0)
    fail(name, field, "is not a positive number");
  return value;
}

std::uint64_t count_of(const std::string& name, const CsvField& field) {
  std::uint64_t value = 0;
  const char* const end = field.text.data() + field.text.size();
  const auto [stop, error] = std::from_chars(field.text.data(), end, value);
  if (error != std::errc() || stop != end || value == 0) fail(name, field, "is not a positive whole number");
  return value;
}

std::uint64_t count_or_0(const std::string& name, const CsvField& field) {
  return field.text.empty() ? 0 : count_of(name, field);
}

std::string text_in(const std::string& name, const CsvField& field) {
  if (field.text.empty()) fail(name, field, "is empty");
  return escaped(JsonFields::printable(field.text));
}

Baseline read_baseline(const std::string& name, const CsvRecord& record) {
  if (record.size() != kColumns.size())
    throw DataError(
        fmt::format("{}:{}:1: {} fields, expected {}", name, record.front().line, record.size(), kColumns.size()));
  Baseline row{.system = text_in(name, record[0]),
               .processor = text_in(name, record[1]),
               .count = count_of(name, record[2]),
               .neurons = count_or_0(name, record[3]),
               .layers = count_or_0(name, record[4]),
               .images = count_or_0(name, record[5]),
               .seconds = number_of(name, record[6]),
               .edges_per_second = number_of(name, record[7]),
               .counted = text_in(name, record[8]),
               .measured = text_in(name, record[9]),
               .source = text_in(name, record[10])};
  if (!row.seconds && !row.edges_per_second) fail(name, record[6], "is empty, and so is edges_per_second");
  if (!row.edges_per_second && row.work() == 0) fail(name, record[7], "is empty, and so is one of the sizes");
  constexpr double kTolerance = 0.1;  // both may be rounded to two digits
  const double rate = row.seconds ? row.work() / *row.seconds : 0;
  if (row.edges_per_second && rate > 0 && std::abs(rate / *row.edges_per_second - 1) > kTolerance)
    fail(name, record[7], fmt::format("contradicts the size and the time, which give {:.4g}", rate));
  if (row.measured != "published" && row.measured != "run by us")
    fail(name, record[9], "is neither 'published' nor 'run by us'");
  return row;
}

}  // namespace

double Baseline::work() const {
  return static_cast<double>(images) * static_cast<double>(neurons) * static_cast<double>(layers) * kOfficialDegree;
}

std::vector<Baseline> read_baselines(const std::string& name, std::string_view text) {
  const std::vector<CsvRecord> records = read_csv(name, text);
  std::vector<std::string> head;
  head.reserve(kColumns.size());
  if (!records.empty())
    for (const CsvField& field : records.front()) head.push_back(field.text);
  if (head != std::vector<std::string>(kColumns.begin(), kColumns.end()))
    throw DataError(fmt::format("{}:1:1: expected the columns {}", name, fmt::join(kColumns, ",")));
  std::vector<Baseline> rows;
  rows.reserve(records.size());
  for (std::size_t i = 1; i < records.size(); ++i) rows.push_back(read_baseline(name, records[i]));
  return rows;
}

}  // namespace spdnn
