#pragma once

#include <cstddef>
#include <string>

#include "engines/engine.hpp"

/// What the rest of the program may ask about CUDA devices, in terms that need no CUDA header. Only in builds with
/// CUDA.
namespace spdnn::cuda {

struct DeviceInfo {
  std::string name;
  std::string arch;     ///< "sm_90"
  std::string driver;   ///< CUDA version that the driver speaks, "13.0"
  std::string runtime;  ///< CUDA version this program was built with
  std::string id;       ///< the UUID, in hexadecimal digits
  int multiprocessors = 0;
  std::size_t shared_bytes = 0;  ///< shared memory a block may ask for
  std::size_t l2_bytes = 0;
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;
};

/// Devices that can be seen; 0 without a driver.
int device_count();
/// Whether device `ordinal` exists and this build has code for it; otherwise says why not and what would help.
bool cuda_available(std::string* why_not, int ordinal = 0);
/// DeviceError where there is none.
DeviceInfo device_info(int ordinal = 0);

/// Initialises the device for all threads, which takes some 0.2 s that its first user would wait for. Does nothing if
/// the device cannot be used; its users then get the error.
void start_up(int ordinal = 0);
/// Returns when the device has done all that this process has queued.
void wait(int ordinal);

/// Bytes that one engine may take on its device now: what is free, less a reserve for the libraries' own needs, and no
/// more than options.device_memory.
std::size_t memory_budget(const EngineOptions& options);

/// Bytes read and written per second by a copy within the device's memory, the best of ten.
double copy_bytes_per_second(const EngineOptions& options);

}  // namespace spdnn::cuda
