#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace spdnn {

using OrderedJson = nlohmann::ordered_json;

/// What is wrong with a text that should be JSON, and where.
struct JsonProblem {
  std::size_t at;  ///< bytes before it
  std::string message;
};

/// Reads a text whose repeated keys, if there are any, mean their last value. Throws JsonProblem.
OrderedJson parse_json(std::string_view text);
/// The same in the order of keys, for large objects; a key that an object repeats is a problem.
nlohmann::json parse_strict_json(std::string_view text);

/// As messages show a value: not a whole list.
std::string shown(const OrderedJson& value);
std::string shown(const nlohmann::json& value);

}  // namespace spdnn
