#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "spdnn/error.hpp"

namespace spdnn {

/// An allocation failed on a device. Less work at a time may fit.
struct OutOfMemory : DeviceError {
  using DeviceError::DeviceError;
};

/// Returns work(). If it runs out of memory, or requests a container beyond the address space, throws a DeviceError
/// that names the purpose: `WHO: WHAT: out of host memory`, where WHO is for instance a file and WHAT `cannot read`.
template <class Work>
decltype(auto) with_memory_for(std::string_view who, std::string_view what, Work&& work) {
  const auto error = [&] {
    return DeviceError(std::string(who).append(": ").append(what).append(": out of host memory"));
  };
  try {
    return work();
  } catch (const std::bad_alloc&) {
    throw error();
  } catch (const std::length_error&) {
    throw error();
  }
}

}  // namespace spdnn
