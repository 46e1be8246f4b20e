#pragma once

#include <cstddef>

#include "spdnn/engine.hpp"

namespace spdnn {

/// Bytes that engines on `device` may take now: of the host, a share of what is available to this process (system and
/// control group); of a CUDA device, what is free there, less a reserve.
std::size_t memory_budget(Device device, const EngineOptions& options);

}  // namespace spdnn
