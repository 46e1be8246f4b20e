#pragma once

#include <ostream>

#include "core/text/json_text.hpp"

namespace spdnn {

/// How GoogleTest shows a value.
inline std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json_line(json); }

}  // namespace spdnn
