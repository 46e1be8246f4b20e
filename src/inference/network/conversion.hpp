#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "core/types/plan.hpp"
#include "spdnn/files.hpp"
#include "spdnn/inference.hpp"

namespace spdnn {

/// A network to be read from `network.path` and written to `out`.
struct NetworkConversion {
  NetworkSpec network;
  Path out;
  Form form = Form::packed;
  std::optional<Passes> passes{};  ///< those of the plan to be stored with it, in packed form only
  Device plan_device = Device::cpu;
  std::size_t host_memory = 0;  ///< see host_budget(); a larger network is packed layer by layer
  ProgressCallback progress{};
  std::function<void(const FileNotes&)> take_notes;  ///< called before anything is written
};

/// Converts the network with its plan. Returns what was read, for text layers do not hold all of it; empty where the
/// network was packed. DeviceError if the device that finds twins is missing, or if the plan does not fit into memory.
NetworkFile convert_network(const NetworkConversion& conversion);

}  // namespace spdnn
