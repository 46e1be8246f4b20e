// Selects the device, reads its properties, and computes the memory budget.

#include "engines/cuda/runtime/device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <sstream>

#include "core/system/build_info.hpp"
#include "engines/cuda/runtime/buffer.hpp"
#include "engines/cuda/runtime/check.hpp"
#include "engines/cuda/runtime/memory.hpp"
#include "engines/cuda/runtime/staging.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cuda {

namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

std::string arch_text(const cudaDeviceProp& properties) {
  return fmt::format("sm_{}{}", properties.major, properties.minor);
}

/// "80 90" as "sm_80 sm_90".
std::string built_for() {
  std::string text;
  std::istringstream names(build_info().cuda_architectures);
  for (std::string name; names >> name;) text += (text.empty() ? "sm_" : " sm_") + name;
  return text;
}

/// Selects the device for the calling thread and restores the earlier choice.
class ScopedDevice {
 public:
  explicit ScopedDevice(int ordinal) {
    check(cudaGetDevice(&earlier_));
    check(cudaSetDevice(ordinal));
  }
  ScopedDevice(const ScopedDevice&) = delete;
  ScopedDevice& operator=(const ScopedDevice&) = delete;
  ~ScopedDevice() { cudaSetDevice(earlier_); }

 private:
  int earlier_ = 0;
};

}  // namespace

int device_count() {
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return 0;
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess) return count;
  cudaGetLastError();
  return 0;
}

bool cuda_available(std::string* why_not, int ordinal) {
  const auto refuse = [&](std::string reason) {
    cudaGetLastError();
    if (why_not != nullptr) *why_not = std::move(reason);
    return false;
  };
  int driver = 0;
  int count = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return refuse("no NVIDIA driver is installed");
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaErrorInsufficientDriver)
    return refuse(fmt::format("the NVIDIA driver speaks CUDA {}, this program needs {} or later", version_text(driver),
                              version_text(CUDART_VERSION)));
  if (status == cudaErrorNoDevice || (status == cudaSuccess && count == 0)) return refuse("no CUDA device is visible");
  if (status != cudaSuccess) return refuse(fmt::format("CUDA: {}", cudaGetErrorString(status)));
  if (ordinal < 0 || ordinal >= count)
    return refuse(fmt::format("CUDA device {} is outside 0..{}", ordinal, count - 1));
  const cudaDeviceProp& properties = device_properties(ordinal);
  try {
    const ScopedDevice scope(ordinal);
    if (has_code_for_device()) return true;
  } catch (const DeviceError& error) {
    return refuse(error.what());
  }
  return refuse(fmt::format("built for {}, but the device is {}", built_for(), arch_text(properties)));
}

const cudaDeviceProp& device_properties(int ordinal) {
  static std::mutex mutex;
  static std::map<int, cudaDeviceProp> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(ordinal);
  if (found != known.end()) return found->second;
  cudaDeviceProp properties{};
  const cudaError_t status = cudaGetDeviceProperties(&properties, ordinal);
  if (status != cudaSuccess) throw DeviceError(fmt::format("CUDA device {}: {}", ordinal, cudaGetErrorString(status)));
  return known.emplace(ordinal, properties).first->second;
}

const cudaDeviceProp& current_device_properties() {
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  return device_properties(ordinal);
}

DeviceInfo device_info(int ordinal) {
  std::string why_not;
  if (!cuda_available(&why_not, ordinal)) throw DeviceError(why_not);
  const cudaDeviceProp& properties = device_properties(ordinal);
  const ScopedDevice scope(ordinal);
  DeviceInfo info;
  int driver = 0;
  check(cudaDriverGetVersion(&driver));
  check(cudaMemGetInfo(&info.free_bytes, &info.total_bytes));
  info.name = properties.name;
  info.arch = arch_text(properties);
  info.driver = version_text(driver);
  info.runtime = version_text(CUDART_VERSION);
  for (const char byte : properties.uuid.bytes) info.id += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return info;
}

void use_device(const EngineOptions& options) {
  std::string why_not;
  if (!cuda_available(&why_not, options.device)) throw DeviceError(why_not);
  check(cudaSetDevice(options.device));
}

Stream stream_on(const EngineOptions& options) {
  use_device(options);
  trim_pool();
  return make_stream();
}

void start_up(int ordinal) {
  if (!cuda_available(nullptr, ordinal)) return;  // initialises the driver and makes the context
  try {
    EngineOptions options;
    options.device = ordinal;
    const Stream stream = stream_on(options);
    const DeviceBuffer<std::byte> pool(1, stream);
    const Staging page_locked;
    check(cudaStreamSynchronize(stream));
  } catch (const Error&) {
    cudaGetLastError();  // the first engine will get the same error
  }
}

void wait(int ordinal) {
  check(cudaSetDevice(ordinal));
  check(cudaDeviceSynchronize());
}

std::size_t memory_budget(const EngineOptions& options) {
  use_device(options);
  std::size_t free_bytes = 0;
  std::size_t total_bytes = 0;
  check(cudaMemGetInfo(&free_bytes, &total_bytes));
  const PoolUse pool = pool_use();
  free_bytes += pool.reserved - pool.used;
  // 256 MiB for library contexts and workspaces, and a twentieth against fragmentation of the pool.
  constexpr std::size_t kReserve = std::size_t{256} << 20U;
  const std::size_t usable = free_bytes > 2 * kReserve ? free_bytes - kReserve - free_bytes / 20 : free_bytes / 2;
  const std::size_t share = usable / static_cast<std::size_t>(options.sharers);
  return options.device_memory == 0 ? share : std::min(share, options.device_memory);
}

}  // namespace spdnn::cuda
