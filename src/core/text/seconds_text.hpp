#pragma once

#include <fmt/format.h>

#include <string>

namespace spdnn {

/// A readable time with three digits or whole seconds: `0.0123 s`, `4.5 s`, `900 s`.
inline std::string seconds_text(double seconds) {
  return seconds < 100 ? fmt::format("{:.3g} s", seconds) : fmt::format("{:.0f} s", seconds);
}

}  // namespace spdnn
