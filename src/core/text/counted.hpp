#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace spdnn {

/// "1 image", "2 images", "0 images".
inline std::string counted(std::uint64_t number, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", number, number == 1 ? one : several);
}

}  // namespace spdnn
