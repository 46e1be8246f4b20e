#pragma once

#include "spdnn/outcome.hpp"
#include "spdnn/report.hpp"

namespace spdnn {

/// The machine that this process runs on, and the device that variants of `device` use.
Machine this_machine(Device device);

}  // namespace spdnn
