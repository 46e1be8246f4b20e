#pragma once

#include <string>

namespace spdnn {

/// `value` with so many significant digits, and all digits before the point; with an exponent only below 1e-14 and
/// from 1e15 on. This is how every form of a report writes a measured number.
std::string significant(double value, int digits = 4);

}  // namespace spdnn
