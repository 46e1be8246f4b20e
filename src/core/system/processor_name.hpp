#pragma once

#include <string>

namespace spdnn {

/// The system's name for the processor's model; empty if there is none.
std::string processor_name();

}  // namespace spdnn
