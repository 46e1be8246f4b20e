#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "spdnn/outcome.hpp"
#include "spdnn/progress.hpp"
#include "spdnn/types.hpp"

namespace spdnn {

/// Which engine runs, and with which resources. Every field has the default of the command line.
struct EngineSettings {
  std::string variant;                 ///< an engine by name; empty: the fastest known one that takes the work
  std::optional<Device> device;        ///< where the engine must run; empty: anywhere, CUDA first
  std::optional<Precision> precision;  ///< empty: the engine's own
  /// Bytes of host memory that the data and an engine on the CPU may take together; the program and CUDA's own memory
  /// come on top. 0: nine tenths of what the machine, and the cgroup that the process is in, have left.
  std::size_t host_memory = 0;
  Index batch = 0;  ///< images at a time; 0: as many as the memory takes, of a model at most 64
  int threads = 0;  ///< host threads; 0: as many as the process may use
};

/// How a run of a network or a model goes on.
struct RunSettings : EngineSettings {
  int trials = 1;             ///< repetitions of the inference, at least 1
  int warm_up = 0;            ///< uncounted trials before these, whose time appears in `warm_up` and `total` only
  ProgressCallback progress;  ///< called while data are read and images run
  /// Asked by the thread that takes the steps, between batches, trials and nodes, and by engines on the CPU between
  /// layers of a tile of images. true ends run() or verify() with Cancelled. Empty: never.
  std::function<bool()> cancelled;
};

}  // namespace spdnn
