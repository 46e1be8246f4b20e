#pragma once

#include <array>
#include <string_view>

namespace spdnn {

// The words that architecture.json has for Resize's enumerators, in their order; reader and writer share them.
inline constexpr std::array<std::string_view, 2> kResizeKinds{"nearest", "linear"};
inline constexpr std::array<std::string_view, 3> kResizePlaces{"half_pixel", "align_corners", "asymmetric"};
inline constexpr std::array<std::string_view, 4> kResizeRoundings{"half_down", "half_up", "down", "up"};

}  // namespace spdnn
