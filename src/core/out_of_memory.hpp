#pragma once

#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "spdnn/error.hpp"

namespace spdnn {

/// Returns work(). Where that runs out of memory, or asks a container for more than the address space holds, throws a
/// DeviceError that says what it was for: `WHO: WHAT: out of host memory`, where WHO is for instance a file and WHAT
/// `cannot read`.
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
