#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/text/comma_list.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

/// The names of the flags in a struct, in order.
template <class Flags, std::size_t N>
using FlagNames = std::array<std::pair<std::string_view, bool Flags::*>, N>;

/// Parses `all` (the given value), `none`, or names separated by commas. Otherwise a UsageError about `field` reports
/// that a name is not a `what`.
template <class Flags, std::size_t N>
Flags parse_flags(const FlagNames<Flags, N>& names, std::string_view text, const Flags& all, std::string_view field,
                  std::string_view what) {
  if (text == "none") return {};
  if (text == "all") return all;
  Flags flags;
  for (const std::string_view name : split_at_commas(text)) {
    const auto found = std::find_if(names.begin(), names.end(), [&](const auto& n) { return n.first == name; });
    if (found == names.end()) {
      std::string message =
          "'" + std::string(name) + "' is not a " + std::string(what) + "; expected all, none, or a list of ";
      for (const auto& known : names) message += std::string(known.first) + (&known == &names.back() ? "" : ", ");
      throw UsageError(std::string(field), message);
    }
    flags.*(found->second) = true;
  }
  return flags;
}

/// The names of the set flags, separated by commas; `none` if none is set.
template <class Flags, std::size_t N>
std::string flags_text(const FlagNames<Flags, N>& names, const Flags& flags) {
  std::string text;
  for (const auto& [name, flag] : names)
    if (flags.*flag) text += (text.empty() ? "" : ",") + std::string(name);
  return text.empty() ? "none" : text;
}

}  // namespace spdnn
