#pragma once

#include <filesystem>
#include <string>

#include "spdnn/error.hpp"

namespace spdnn {

/// The exit code for a system call that failed with this errno: `device` where the machine has run out of memory,
/// threads or descriptors, `data` where something is wrong with the file.
ExitCode exit_code_of(int error);

/// Throws `PATH: WHAT: REASON` for such a call, as a DeviceError or a DataError. WHAT is `cannot read` or `cannot
/// write`.
[[noreturn]] void throw_system_failure(const std::filesystem::path& path, const std::string& what, int error);

}  // namespace spdnn
