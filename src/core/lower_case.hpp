#pragma once

#include <string>
#include <string_view>

namespace spdnn {

/// The text with A to Z as a to z, whatever the locale; other bytes stay as they are.
std::string lower_case(std::string_view text);

}  // namespace spdnn
