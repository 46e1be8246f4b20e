#pragma once

#include <string>

namespace spdnn {

/// The name of this machine; empty if the system has none.
std::string host_name();

}  // namespace spdnn
