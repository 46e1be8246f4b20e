#pragma once

#include <span>
#include <string>
#include <string_view>

namespace spdnn {

/// The name that `given` is most likely to be a slip of: the one with the fewest letters to change, insert, leave out
/// or swap with their neighbours, or one that `given` begins. Empty where none is near.
std::string nearest_name(std::string_view given, std::span<const std::string> names);

/// `; did you mean PREFIXname?`, or nothing.
std::string did_you_mean(std::string_view given, std::span<const std::string> names, std::string_view prefix = "");

}  // namespace spdnn
