#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "core/text/json.hpp"

namespace spdnn {

/// A problem in a JSON text, with its position.
struct JsonProblem {
  std::size_t at;  ///< bytes before it
  std::string message;
};

/// Parses a text. For repeated keys the last value counts. JsonProblem if it is not JSON, or nested deeper than 64
/// levels: values are copied, printed and freed recursively, so a file of nested brackets could exhaust the stack.
/// Lines of results and checkpoints have five levels.
Json parse_json(std::string_view text);
/// The same with sorted members; a repeated key is a problem.
Json parse_strict_json(std::string_view text);
/// The same as parse_json(), but null for a problem.
Json parse_json_or_null(std::string_view text);

/// The text on one line; or on several, each level indented by so many spaces. UnexpectedJson if a text is not UTF-8.
std::string json_text(const Json& json, int indent = -1);
/// The text on one line, newline included. File names may be arbitrary bytes, but JSON is UTF-8: invalid bytes are
/// replaced by U+FFFD, so that no report is lost because of them.
std::string json_line(const Json& json);
/// The same in ASCII, without newline.
std::string ascii_json(const Json& json);
/// A value shortened for messages, without whole lists.
std::string shown(const Json& value);

}  // namespace spdnn
