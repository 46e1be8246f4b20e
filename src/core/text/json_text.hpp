#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace spdnn {

using OrderedJson = nlohmann::ordered_json;

/// A problem in a JSON text, with its position.
struct JsonProblem {
  std::size_t at;  ///< bytes before it
  std::string message;
};

/// Parses a text; for repeated keys the last value counts. Throws JsonProblem.
OrderedJson parse_json(std::string_view text);
/// The same with sorted keys, for large objects; a repeated key is a problem.
nlohmann::json parse_strict_json(std::string_view text);

/// A value shortened for messages, without whole lists.
std::string shown(const OrderedJson& value);
std::string shown(const nlohmann::json& value);

}  // namespace spdnn
