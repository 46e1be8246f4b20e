#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace spdnn::cuda {

/// Why PTX cannot be compiled here; empty if it can.
std::string why_no_compiler();

/// Machine code for `arch`, "sm_90". By nvJitLink, which is opened on first use; from any number of threads.
/// DeviceError with the compiler's message if it fails.
std::vector<std::byte> compiled(const std::string& ptx, const std::string& arch);

/// Its name and version.
std::string compiler_version();

}  // namespace spdnn::cuda
