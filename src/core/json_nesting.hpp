#pragma once

#include <cstddef>
#include <string_view>

namespace spdnn {

/// JSON is read, copied, printed and freed by recursion, so a file of brackets alone would use up the stack. Lines of
/// results and checkpoints have five levels.
inline constexpr std::size_t kDeepestJson = 64;

/// The position of the first bracket that opens more than kDeepestJson levels, or npos. To be asked before parsing.
std::size_t too_deep_json(std::string_view text);

}  // namespace spdnn
