#pragma once

#include <cuda_runtime_api.h>

#include "engines/cuda/runtime/device_info.hpp"
#include "engines/cuda/runtime/handle.hpp"

namespace spdnn::cuda {

/// Whether this build has code for the current device.
bool has_code_for_device();

/// Makes the device of `options` this thread's current one. Every engine calls it first. DeviceError if the device
/// cannot be used.
void use_device(const EngineOptions& options);

/// use_device(), and a stream of its own there: what an engine's members allocate on. Memory that earlier engines left
/// in the pool is handed back, as the libraries allocate past it.
Stream stream_on(const EngineOptions& options);

/// The device's properties, read once per process.
const cudaDeviceProp& device_properties(int ordinal);
/// Those of this thread's current device.
const cudaDeviceProp& current_device_properties();

}  // namespace spdnn::cuda
