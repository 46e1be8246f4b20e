#include "core/text/json_nesting.hpp"

namespace spdnn {

std::size_t too_deep_json(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') quoted = !quoted;
    if (quoted && c == '\\') ++i;
    if (quoted) continue;
    if ((c == '[' || c == '{') && ++depth > kDeepestJson) return i;
    if ((c == ']' || c == '}') && depth > 0) --depth;
  }
  return std::string_view::npos;
}

}  // namespace spdnn
