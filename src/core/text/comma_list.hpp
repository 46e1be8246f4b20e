#pragma once

#include <string_view>
#include <vector>

namespace spdnn {

/// The parts of `text` between commas, empty ones included; they point into `text`.
std::vector<std::string_view> split_at_commas(std::string_view text);

}  // namespace spdnn
