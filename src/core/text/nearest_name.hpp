#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spdnn {

/// The name that `given` probably misspells: the one with the fewest letters to change, insert, delete or swap with
/// their neighbours, or one that starts with `given`. Empty if none is close.
std::string nearest_name(std::string_view given, std::span<const std::string> names);

/// `; did you mean PREFIXname?`, or an empty text.
std::string did_you_mean(std::string_view given, std::span<const std::string> names, std::string_view prefix = "");

}  // namespace spdnn
