#pragma once

#include <cstddef>

#include "report/report.hpp"
#include "spdnn/engine.hpp"

namespace spdnn {

/// A synthetic problem for one measurement: layers without any structure to exploit.
struct LayerBench {
  Index neurons = 1024;
  Index degree = 32;
  Index layers = 8;       ///< timed together: engines may fuse them
  Index images = 60000;   ///< before the share below
  double alive = 1.0;     ///< share of the images that enter the layers
  bool distinct = false;  ///< every weight its own value, instead of one for all
  int trials = 5;
};

struct LayerTiming {
  Index images = 0;       ///< that were computed
  Spread seconds;         ///< one layer
  double edges = 0;       ///< images x edges of one layer
  std::size_t bytes = 0;  ///< least traffic of one layer: weights once, activations of each image read and written once
};

/// Times `variant` under --reduce dead. Throws what the engine throws.
LayerTiming time_layers(const Variant& variant, const LayerBench& bench, const EngineOptions& options);

/// The ceiling that timings are compared with: bytes read and written per second by a plain copy of 1 GiB (less where
/// memory is short) on the device, the best of ten.
double copy_bytes_per_second(Device device, const EngineOptions& options);

}  // namespace spdnn
