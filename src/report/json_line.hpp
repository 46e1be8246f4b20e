#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace spdnn {

/// Formats `json` on one line, newline included. File names may be arbitrary bytes, but JSON is UTF-8: invalid bytes
/// are replaced by U+FFFD, so that no report is lost because of them.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spdnn
