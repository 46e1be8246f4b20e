#pragma once

#include "engines/variant_lines.hpp"

namespace spdnn {

SPDNN_DECLARE_VARIANT(cpu_reference)

/// The variant that results are checked against.
inline const Variant& oracle() { return find_variant("cpu_reference"); }

}  // namespace spdnn
