#pragma once

#include <filesystem>
#include <string>

#include "spdnn/error.hpp"

namespace spdnn {

/// Whether a call of the system that failed with this errno did so because the machine has run out of memory, threads
/// or descriptors, and not because of the file.
bool is_exhaustion(int error);

/// Throws `PATH: WHAT: REASON` for such a call, WHAT being `cannot read` or `cannot write`: a DeviceError where the
/// machine is exhausted, a DataError otherwise.
[[noreturn]] void throw_system_failure(const std::filesystem::path& path, const std::string& what, int error);

}  // namespace spdnn
