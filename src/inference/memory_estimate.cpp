#include "inference/memory_estimate.hpp"

#include <algorithm>
#include <filesystem>

#include "core/parallel.hpp"
#include "inference/run.hpp"
#include "io/packed/format.hpp"
#include "io/path_kind.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

/// Measured with /usr/bin/time -v on a run of two neurons: code, shared libraries, thread stacks.
constexpr std::size_t kProgramBytes = std::size_t{8} << 20;
/// What a thread of the text readers keeps for each edge of the layer at hand, measured at 1024 and 4096 neurons.
constexpr std::size_t kTextEdgeBytes = 30;

std::size_t reading_bytes(const std::string& path, const Network& network) {
  if (path.empty()) return 0;
  // Each thread decodes edges from a block of its own.
  if (path_kind(path) == PathKind::file && form_of(path) == Form::packed)
    return static_cast<std::size_t>(host_threads()) * packed::kBlockBytes;
  std::size_t edges = 0;
  for (const Layer& layer : network.layers) edges = std::max(edges, layer.weights.entries());
  return static_cast<std::size_t>(host_threads()) * kTextEdgeBytes * edges;
}

std::size_t bytes_shared(const Layer& stored, const Layer& given) {
  const auto part = [](const auto& mine, const auto& theirs) {
    return mine.data() == theirs.data() ? mine.bytes() : std::size_t{0};
  };
  return part(stored.weights.offsets, given.weights.offsets) + part(stored.weights.indices, given.weights.indices) +
         part(stored.weights.values, given.weights.values) + part(stored.bias.values, given.bias.values);
}

}  // namespace

std::size_t MemoryEstimate::host_peak() const {
  const std::size_t running = shared + plan + (device == Device::cpu ? engine : 0);
  return program + images + std::max({network + reading, network + plan, running});
}

MemoryEstimate estimate_memory(const std::string& path, const Network& network, const Plan& plan,
                               const Variant& variant, const EngineOptions& options, Index images) {
  MemoryEstimate estimate;
  estimate.program = kProgramBytes;
  estimate.reading = reading_bytes(path, network);
  estimate.network = network.bytes();
  for (std::size_t k = 0; k < plan.layers.size(); ++k)
    estimate.shared += bytes_shared(plan.layers[k], network.layers[k]);
  estimate.plan = plan.bytes() - estimate.shared;
  estimate.images = (std::size_t{network.inputs()} + 63) / 64 * 8 * images;
  BatchInfo batch{images, true, true};
  estimate.batch = batch.images = automatic_batch(variant, plan, batch, options);
  estimate.engine = support_of(variant, plan, batch, options).working_bytes;
  estimate.device = variant.device;
  return estimate;
}

}  // namespace spdnn
