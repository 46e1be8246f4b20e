#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace spdnn {

using OrderedJson = nlohmann::ordered_json;

/// The value; null of an empty optional, text or list.
template <class Json = OrderedJson, class Value>
Json json_or_null(const Value& value) {
  if constexpr (requires { value.has_value(); })
    return value ? Json(*value) : Json(nullptr);
  else
    return value.empty() ? Json(nullptr) : Json(value);
}

/// A problem in a JSON text, with its position.
struct JsonProblem {
  std::size_t at;  ///< bytes before it
  std::string message;
};

/// The position of the first bracket beyond 64 levels, or npos. Call it before parsing: JSON is parsed, copied, printed
/// and freed recursively, so a file of nested brackets could exhaust the stack. Lines of results and checkpoints have
/// five levels.
std::size_t too_deep_json(std::string_view text);

/// Parses a text; for repeated keys the last value counts. Throws JsonProblem.
OrderedJson parse_json(std::string_view text);
/// The same with sorted keys, for large objects; a repeated key is a problem.
nlohmann::json parse_strict_json(std::string_view text);

/// A value shortened for messages, without whole lists.
std::string shown(const OrderedJson& value);
std::string shown(const nlohmann::json& value);

/// Formats `json` on one line, newline included. File names may be arbitrary bytes, but JSON is UTF-8: invalid bytes
/// are replaced by U+FFFD, so that no report is lost because of them.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spdnn
