#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "spdnn/outcome.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// The choice of an engine, and its resources. Every field has the default of the command line.
struct EngineSettings {
  std::string variant;                 ///< an engine by name; empty: the fastest that supports the work
  std::optional<Device> device;        ///< the device to use; empty: any, CUDA first
  std::optional<Precision> precision;  ///< empty: the engine's default
  /// Limit in bytes of host memory for the data and an engine on the CPU together; the program and CUDA's own memory
  /// come on top. 0: nine tenths of the memory that the machine and the process's control group have left.
  std::size_t host_memory = 0;
  /// Images at a time; 0: as many as fit into memory, for a model 64, more small ones, or as many as its stored program
  /// is for.
  Index batch = 0;
  int threads = 0;              ///< host threads; 0: as many as the process may use
  int cuda_device = 0;          ///< index among the visible devices, for a single process
  double compile_seconds = 60;  ///< that generating code for a model may take; 0: none is generated
};

/// Settings of a run of a network or a model.
struct RunSettings : EngineSettings {
  int trials = 1;              ///< repetitions of the inference, at least 1
  int warm_up = 0;             ///< uncounted trials before these, whose time appears in `warm_up` and `total` only
  bool share_devices = false;  ///< ranks may share CUDA devices; otherwise sharing is a DeviceError
  /// Records the CUDA device's clocks, temperature, power and energy during the trials.
  bool device_state = false;
  /// Runs a second time for comparison: a network with the passes `dead` alone, a model without rewrites.
  bool compare = false;
  ProgressCallback progress;  ///< called while data are read and images run
  /// Called between batches, trials and nodes by the thread that takes the steps, and by engines on the CPU between
  /// layers of a tile of images. true ends run() or verify() with Cancelled. May be empty.
  std::function<bool()> cancelled;
};

}  // namespace spdnn
