#pragma once

#include <filesystem>
#include <string>

#include "spdnn/error.hpp"

namespace spdnn {

/// Whether this errno value means that the machine has run out of memory, threads or descriptors, and not that the file
/// is at fault.
bool is_exhaustion(int error);

/// Throws `PATH: WHAT: REASON`, where WHAT is `cannot read` or `cannot write`: a DeviceError if the machine is
/// exhausted, otherwise a DataError.
[[noreturn]] void throw_system_failure(const std::filesystem::path& path, const std::string& what, int error);

}  // namespace spdnn
