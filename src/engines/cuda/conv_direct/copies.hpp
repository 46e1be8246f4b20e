#pragma once

#include <cstddef>

namespace spdnn::cuda {

// Copies of memory that the host has not locked, on the stream of this thread. Long ones go through page-locked memory
// piece by piece, which the host's threads fill or empty (engines/cuda/runtime/staging.hpp).

/// Returns once `from` may be reused.
void copy_to_device(void* to, const void* from, std::size_t bytes);
/// Returns once the copy is complete.
void copy_to_host(void* to, const void* from, std::size_t bytes);

}  // namespace spdnn::cuda
