#pragma once

#include <cstddef>
#include <string>

#include "engines/engine.hpp"

/// Queries about CUDA devices for the rest of the program, without CUDA headers. Only in builds with CUDA.
namespace spdnn::cuda {

struct DeviceInfo {
  std::string name;
  std::string arch;     ///< "sm_90"
  std::string driver;   ///< CUDA version of the driver, "13.0"
  std::string runtime;  ///< CUDA version this program was built with
  std::string id;       ///< the UUID, in hexadecimal digits
  std::size_t total_bytes = 0;
  std::size_t free_bytes = 0;
};

/// Number of visible devices; 0 without a driver.
int device_count();
/// Whether device `ordinal` exists and this build has code for it; otherwise the reason and a remedy.
bool cuda_available(std::string* why_not, int ordinal = 0);
/// DeviceError where there is none.
DeviceInfo device_info(int ordinal = 0);

/// Initialises the device for all threads in advance, which takes about 0.2 s. Does nothing if the device cannot be
/// used; its users then get the error.
void start_up(int ordinal = 0);
/// Waits until the device has finished all work that this process has queued.
void wait(int ordinal);

/// Bytes that one engine may use on its device now: free memory minus a reserve for the libraries, at most
/// options.device_memory.
std::size_t memory_budget(const EngineOptions& options);

/// Bytes read and written per second by a copy within the device's memory, the best of ten.
double copy_bytes_per_second(const EngineOptions& options);

}  // namespace spdnn::cuda
