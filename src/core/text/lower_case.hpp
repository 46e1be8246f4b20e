#pragma once

#include <string>
#include <string_view>

namespace spdnn {

/// The text with A to Z replaced by a to z, in any locale; other bytes are unchanged.
std::string lower_case(std::string_view text);

}  // namespace spdnn
