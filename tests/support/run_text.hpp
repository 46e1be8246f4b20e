#pragma once

#include <fmt/format.h>

#include <string>

#include "core/text/json_text.hpp"

namespace spdnn::testing {

/// A number that differs from run to run: 0, or above 0.
inline Json sign_of(const Json& number) { return number.get<double>() > 0 ? Json("> 0") : Json(0); }

/// Objects and lists with the signs of their numbers.
inline Json signs_of(const Json& value) {
  if (value.is_number()) return sign_of(value);
  Json signs = value;
  for (const auto& [name, member] : value.items()) signs[name] = signs_of(member);
  signs.erase("other");  // which rounding and the maxima of ranks may make 0
  return signs;
}

/// A line of results with a field on each line, without machine and build, and of times and rates the signs alone.
inline std::string text_of_run(const std::string& json) {
  std::string text;
  const Json line = parse_json(json);
  for (const auto& [name, value] : line.items()) {
    if (name == "machine" || name == "build" || name == "suite") continue;
    const bool varies = name == "seconds" || name == "compared" || name.starts_with("rate") ||
                        name == "images_per_second" || name == "flops";
    text += fmt::format("{}: {}", name, json_line(varies ? signs_of(value) : value));
  }
  return text;
}

}  // namespace spdnn::testing
