#include "engines/cuda/conv_generated/shared_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <semaphore>
#include <system_error>

#include "core/threads/parallel.hpp"
#include "engines/cuda/conv_generated/compiler.hpp"
#include "engines/cuda/runtime/device.hpp"
#include "program/stored.hpp"

namespace spdnn::cuda {

namespace {

/// Starts to load code that need not be compiled, on a thread of its own; not more at a time than there are processors
/// for. What is not started is loaded by load().
void start_loading(SharedLayer& shared, int ordinal, std::size_t shared_bytes) {
  static std::counting_semaphore<> free_threads(host_threads());
  if (!free_threads.try_acquire()) return;
  try {
    shared.loading = std::async(std::launch::async, [&code = shared.code, ordinal, shared_bytes] {
      const std::unique_ptr<void, void (*)(void*)> held(&free_threads, [](void*) { free_threads.release(); });
      check(cudaSetDevice(ordinal));
      return std::make_unique<LoadedLayer>(code.get({}), shared_bytes);
    });
  } catch (const std::system_error&) {  // no thread is left
    free_threads.release();
  }
}

/// The images that a model's program is for: it is read once for all layers, by a caller at a time.
Extent images_of(const StoredProgram& program) {
  static std::string text;
  static Extent images = 0;
  if (program.text != text) {
    images = program::StoredReader(program).batch();
    text = program.text;
  }
  return images;
}

}  // namespace

void SharedLayer::load(std::chrono::steady_clock::time_point deadline, std::size_t shared_bytes) {
  if (!loaded && loading.valid()) loaded = loading.get();
  const auto& machine_code = code.get(deadline);
  if (!loaded) loaded = std::make_unique<LoadedLayer>(machine_code, shared_bytes);
}

std::shared_ptr<SharedLayer> shared_layer(const Layer& layer, const Model& model) {
  const std::vector<StoredCode>& of_model = model.code;
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<SharedLayer>> layers;
  const cudaDeviceProp& device = current_device_properties();
  const std::string arch = fmt::format("sm_{}{}", device.major, device.minor);
  const std::string digest = digest_of(layer.generated(), compiler_version(), arch);
  int ordinal = 0;
  check(cudaGetDevice(&ordinal));
  const std::lock_guard lock(mutex);
  std::weak_ptr<SharedLayer>& known = layers[fmt::format("{} {}", digest, ordinal)];
  if (auto shared = known.lock()) return shared;
  const auto filters =
      std::make_shared<const std::vector<std::vector<Index>>>(filters_by_kernel(layer.tiling, layer.weights));
  const auto stored = std::ranges::find(of_model, digest, &StoredCode::digest);
  auto shared = std::make_shared<SharedLayer>(
      LayerCode::Source{.digest = digest,
                        .kernels = filters->size(),
                        .compile =
                            [layer, filters, arch](std::size_t kernel) {
                              return compiled(generated_code(layer.generated(), (*filters)[kernel]), arch);
                            },
                        .of_model = stored == of_model.end() ? Array<std::byte>() : stored->bytes});
  shared->digest = digest;
  shared->model_has_others = !of_model.empty() && stored == of_model.end();
  if (shared->model_has_others && model.program) shared->model_images = images_of(*model.program);
  if (shared->code.source() != program::Prepared::Source::compiled)
    start_loading(*shared, ordinal, layer.tiling.shared_bytes());
  known = shared;
  return shared;
}

}  // namespace spdnn::cuda
