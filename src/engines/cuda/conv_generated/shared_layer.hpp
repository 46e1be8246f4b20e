#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engines/cuda/conv_generated/generated.hpp"
#include "engines/cuda/conv_generated/launch.hpp"
#include "engines/cuda/conv_generated/layer_code.hpp"
#include "spdnn/model.hpp"

namespace spdnn::cuda {

/// What a layer's code is made of.
struct Layer {
  DirectShape shape;
  GeneratedTiling tiling;
  CsrMatrix weights;
  std::vector<float> bias;
  std::vector<Function> functions;
  bool in_halves = false;

  GeneratedLayer generated() const {
    return {shape, tiling, weights, bias.empty() ? nullptr : bias.data(), functions, in_halves};
  }
};

/// A layer's code, and its kernels once they are loaded; shared by the programs of a process for all batches.
struct SharedLayer {
  std::string digest{};
  bool model_has_others = false;  ///< see program::Prepared
  Extent model_images = 0;        ///< likewise
  LayerCode code;
  std::mutex mutex{};
  std::unique_ptr<LoadedLayer> loaded{};
  /// Of code that need not be compiled: it is loaded while the constants are made. Ends before the code does.
  std::future<std::unique_ptr<LoadedLayer>> loading{};
  explicit SharedLayer(LayerCode::Source source) : code(std::move(source)) {}

  /// Compiles until `deadline`; the caller has the mutex.
  void load(std::chrono::steady_clock::time_point deadline, std::size_t shared_bytes);
};

/// That of the layer on the current device; its code is begun, if no program has it, or taken from the model.
std::shared_ptr<SharedLayer> shared_layer(const Layer& layer, const Model& model);

}  // namespace spdnn::cuda
