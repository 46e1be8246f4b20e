#pragma once

#include <string>

namespace spdnn {

/// `value` with `digits` significant digits, and all digits before the point; with an exponent only below 1e-14 and
/// from 1e15 on. All report formats write measured numbers in this way.
std::string significant(double value, int digits = 4);

}  // namespace spdnn
