#pragma once

namespace spdnn::planning {

inline constexpr double kUnit = 0x1p-24;        ///< unit roundoff of fp32
inline constexpr double kUnderflow = 0x1p-126;  ///< the most that one fp32 operation may lose to underflow

}  // namespace spdnn::planning
