#pragma once

#include <cstddef>

#include "engines/engine.hpp"
#include "spdnn/report.hpp"

namespace spdnn::bench {

/// A synthetic problem for one measurement: layers without any structure to exploit.
struct LayerBench {
  Index neurons = 1024;
  Index degree = 32;
  Index layers = 8;       ///< timed together: engines may fuse them
  Index images = 60000;   ///< before the share below
  double alive = 1.0;     ///< share of the images that enter the layers
  bool distinct = false;  ///< every weight its own value, instead of one for all
  int trials = 5;
  double seconds = 2;  ///< no trial begins later; a first run that takes as long is the only one
};

/// The problem on which all variants are timed.
struct LayerProblem {
  Plan plan;
  ImageSet images;
};

struct LayerTiming {
  Index images = 0;       ///< computed
  int trials = 0;         ///< completed in the time
  Spread seconds;         ///< of one layer, including its share of preparing the images
  double edges = 0;       ///< images x edges of one layer
  std::size_t bytes = 0;  ///< least traffic of one layer: weights once, activations of each image read and written once
};

/// The network and the images, `alive` of them.
LayerProblem make_problem(const LayerBench& bench);

/// Times `variant` with --reduce dead. Throws the engine's exceptions: UsageError if it does not support the layers.
LayerTiming time_layers(const Variant& variant, const LayerBench& bench, const LayerProblem& problem,
                        const EngineOptions& options);

}  // namespace spdnn::bench
