#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace spdnn {

/// `json` on one line, newline included. Names of files may be any bytes, but JSON is UTF-8: what is not is replaced
/// by U+FFFD, so that no report is lost because of it.
inline std::string json_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace spdnn
