#pragma once

#include <string>

namespace spdnn {

/// The name of this machine; empty if the system has none.
std::string host_name();

/// The system's name for the processor's model; empty if there is none.
std::string processor_name();

}  // namespace spdnn
