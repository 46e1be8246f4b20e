#pragma once

#include <string>

namespace spdnn {

/// The processor's model as the system names it; empty where it names none.
std::string processor_name();

}  // namespace spdnn
