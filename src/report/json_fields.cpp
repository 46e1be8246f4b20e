#include "report/json_fields.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// Quotients and products of such numbers are finite.
bool can_be_measured(double number) {
  const double size = std::abs(number);
  return size == 0 || (size >= 1e-60 && size <= 1e60);
}

}  // namespace

JsonFields::JsonFields(std::string place, std::string_view text) : place_(std::move(place)), text_(text) {
  try {
    json_ = parse_json(text);
  } catch (const JsonProblem& problem) {
    throw DataError(fmt::format("{}:{}: {}", place_, problem.at + 1, problem.message));
  }
  if (!json_.is_object()) throw DataError(fmt::format("{}:1: {}, expected an object", place_, shown(json_)));
}

const Json* JsonFields::find(Path path) const {
  const Json* value = &json_;
  for (const char* name : path) {
    value = value->find(name);
    if (value == nullptr) return nullptr;
  }
  return value;
}

const Json& JsonFields::at(Path path) const {
  const Json* value = find(path);
  if (value == nullptr) throw DataError(fmt::format("{}:{}: no field {}", place_, column_of(path), name_of(path)));
  return *value;
}

JsonFields JsonFields::part(const char* name) const {
  if (!at({name}).is_object()) fail({name}, "expected an object");
  JsonFields part = *this;
  part.json_ = at({name});
  part.part_ = fmt::format("{}{}.", part_, name);
  part.begin_ = column_of({name}) - 1;
  return part;
}

std::string JsonFields::printable(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 32 || c == 127; }, ' ');
  return text;
}

std::string JsonFields::text(Path path) const {
  const Json& value = at(path);
  if (!value.is_string()) fail(path, "expected a string");
  return printable(value.get<std::string>());
}

std::string JsonFields::optional_text(Path path) const {
  const Json* value = find(path);
  return value == nullptr || value->is_null() ? "" : text(path);
}

std::vector<std::string> JsonFields::texts(Path path) const {
  const Json& values = at(path);
  std::vector<std::string> all;
  if (!values.is_array()) fail(path, "expected a list of strings");
  for (const Json& value : values) {
    if (!value.is_string()) fail(path, "expected a list of strings");
    all.push_back(printable(value.get<std::string>()));
  }
  return all;
}

bool JsonFields::truth(Path path) const {
  const Json& value = at(path);
  if (!value.is_boolean()) fail(path, "expected true or false");
  return value.get<bool>();
}

bool JsonFields::is_amount(const Json& value) {
  return value.is_number() && value.get<double>() >= 0 && can_be_measured(value.get<double>());
}

double JsonFields::number(Path path) const {
  const Json& value = at(path);
  if (!value.is_number() || value.get<double>() < 0) fail(path, "expected a number that is not negative");
  if (!is_amount(value)) fail(path, "expected 0 or a number from 1e-60 to 1e60");
  return value.get<double>();
}

std::optional<double> JsonFields::optional_number(Path path) const {
  const Json* value = find(path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return number(path);
}

std::uint64_t JsonFields::count(Path path) const {
  const Json& value = at(path);
  if (!value.is_number_unsigned()) fail(path, "expected a whole number");
  return value.get<std::uint64_t>();
}

std::uint64_t JsonFields::count_or(Path path, std::uint64_t otherwise) const {
  return find(path) == nullptr ? otherwise : count(path);
}

int JsonFields::positive(Path path) const {
  constexpr auto kMost = std::numeric_limits<int>::max();
  const std::uint64_t number = count(path);
  if (number == 0 || number > kMost) fail(path, fmt::format("expected a whole number from 1 to {}", kMost));
  return static_cast<int>(number);
}

int JsonFields::positive_or(Path path, int otherwise) const {
  return find(path) == nullptr ? otherwise : positive(path);
}

std::optional<Spread> JsonFields::optional_spread(Path path) const {
  const Json* value = find(path);
  if (value == nullptr || value->is_null()) return std::nullopt;
  return spread(path);
}

Spread JsonFields::spread(Path path) const {
  const Json& value = at(path);
  const auto part = [&](const char* name) {
    const Json* const found = value.find(name);
    if (found == nullptr || !found->is_number() || !can_be_measured(found->get<double>()))
      fail(path, fmt::format("expected numbers min, median and max"));
    return found->get<double>();
  };
  const Spread spread{part("min"), part("median"), part("max"), 0};
  if (spread.min > spread.median || spread.median > spread.max) fail(path, "expected min <= median <= max");
  return spread;
}

void JsonFields::fail(Path path, const std::string& problem) const {
  throw DataError(fmt::format("{}:{}: {} is {}, {}", place_, column_of(path), name_of(path), shown(at(path)), problem));
}

/// The column of the innermost field that exists; names are searched one after another.
std::size_t JsonFields::column_of(Path path) const {
  std::size_t at = begin_;
  for (const char* name : path) {
    const std::size_t found = text_.find(fmt::format("\"{}\"", name), at);
    if (found == std::string_view::npos) break;
    at = found;
  }
  return at + 1;
}

std::string JsonFields::name_of(Path path) const { return fmt::format("{}{}", part_, fmt::join(path, ".")); }

}  // namespace spdnn
