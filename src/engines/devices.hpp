#pragma once

#include <cstddef>
#include <string>

#include "engines/backend.hpp"
#include "engines/engine.hpp"
#include "plan/passes/twins.hpp"

namespace spdnn {

/// The reason why variants of `device` cannot run here, with a remedy, in one line; empty if they can.
std::string why_unusable(Device device, int ordinal = 0);

/// Devices of this kind that the process can see.
int device_count(Device device);

/// The device that variants of `device` run on.
DeviceNames device_names(Device device, int ordinal = 0);

/// Makes a device ready for its first use, for all threads, and returns the seconds that this took: on CUDA driver,
/// context, memory pool and page-locked buffers. Throws nothing: the first use of a broken device throws.
double start_up(Device device, int ordinal = 0);

/// Waits until the device has finished all work that this process has queued; immediate on the CPU.
void wait_for(Device device, int ordinal = 0);

/// The planner's search for twins on a device; empty for the CPU, for which the planner has its own.
planning::TwinFinder twin_finder(Device device, int ordinal = 0);

/// Bytes that an engine may take on its device now, besides the memory that the plan and the images already hold: on
/// the host, nine tenths of available_host_bytes(), and no more than options.host_memory; on a CUDA device, see
/// cuda::memory_budget(). If several processes share the device, each has an even share.
std::size_t memory_budget(Device device, const EngineOptions& options);

/// Bytes read and written per second by a plain copy of 1 GiB (less if memory is short) on the device, the best of ten:
/// the ceiling that timings are compared with.
double copy_bytes_per_second(Device device, const EngineOptions& options);

}  // namespace spdnn
