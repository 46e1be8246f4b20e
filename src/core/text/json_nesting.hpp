#pragma once

#include <cstddef>
#include <string_view>

namespace spdnn {

/// JSON is parsed, copied, printed and freed recursively, so a file of nested brackets could exhaust the stack. Lines
/// of results and checkpoints have five levels.
inline constexpr std::size_t kDeepestJson = 64;

/// The position of the first bracket beyond kDeepestJson levels, or npos. Call it before parsing.
std::size_t too_deep_json(std::string_view text);

}  // namespace spdnn
