#pragma once

#include <string_view>
#include <vector>

namespace spdnn {

/// The lines of a text without their ends (\n or \r\n); the last one need not have an end. They point into `text`.
std::vector<std::string_view> lines_of(std::string_view text);

}  // namespace spdnn
