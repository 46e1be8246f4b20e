#pragma once

#include <cstddef>

#include "spdnn/engine.hpp"

namespace spdnn {

/// Bytes that an engine may take on its device now, besides what the plan and the images already hold: on the host,
/// nine tenths of what the system and the process's cgroup leave available; on a CUDA device, see
/// cuda::memory_budget().
std::size_t memory_budget(Device device, const EngineOptions& options);

}  // namespace spdnn
