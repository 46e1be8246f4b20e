#pragma once

#include <cstddef>
#include <functional>
#include <vector>

namespace spdnn {

/// Runs `work` in a child process, a copy of this one, so that its crash or its hanging does no harm here. Returns the
/// bytes that it returns. `work` uses no other threads' locks, no device and no MPI.
/// DeviceError if the child is killed by a signal, or cannot be started; with the message of an exception that `work`
/// throws; and, once `cancelled`, which is called several times a second, returns true: then the child is killed.
std::vector<std::byte> run_apart(const std::function<std::vector<std::byte>()>& work,
                                 const std::function<bool()>& cancelled);

}  // namespace spdnn
