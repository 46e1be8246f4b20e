#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace spdnn {

/// "1 image", "2 images", "0 images".
inline std::string counted(std::uint64_t number, std::string_view one, std::string_view several) {
  return fmt::format("{} {}", number, number == 1 ? one : several);
}

/// A readable time with three digits or whole seconds: `0.0123 s`, `4.5 s`, `900 s`.
inline std::string seconds_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

/// A readable size in a suitable unit: `1 byte`, `812 bytes`, `1.5 kB`, `23.4 MB`, `7.0 GB`.
std::string bytes_text(std::size_t bytes);

}  // namespace spdnn
