#include "inference/network/memory_estimate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "inference/run/run.hpp"
#include "io/files/path_kind.hpp"
#include "io/packed/format.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

/// Measured with /usr/bin/time -v on a run of two neurons: code, shared libraries, thread stacks.
constexpr std::size_t kProgramBytes = std::size_t{8} << 20;
/// MPI's memory in each rank, measured in the same way on four ranks: 9 MB with Open MPI 4.1, 13 MB with MPICH 4.0.
constexpr std::size_t kMpiBytes = std::size_t{12} << 20;
/// Bytes per edge of the current layer in a thread of the text readers, measured at 1024 and 4096 neurons.
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

/// Offset and place of a neuron in the plan.
constexpr std::size_t kPlannedNeuronBytes = sizeof(Offset) + sizeof(Index);
/// Hash, representative, flags, and up to four slots in the table of twins. In all, 37 bytes were measured with
/// /usr/bin/time -v on a layer of 3 million neurons with an input each.
constexpr std::size_t kNeuronAtWorkBytes = sizeof(std::uint64_t) + 5 * sizeof(Index) + 4;

std::size_t bytes_shared(const Layer& stored, const Layer& given) {
  const auto part = [](const auto& mine, const auto& theirs) {
    return mine.data() == theirs.data() ? mine.bytes() : std::size_t{0};
  };
  return part(stored.weights.offsets, given.weights.offsets) + part(stored.weights.indices, given.weights.indices) +
         part(stored.weights.values, given.weights.values) + part(stored.bias.values, given.bias.values);
}

}  // namespace

std::size_t planning_bytes(const Network& network) {
  std::vector<std::size_t> outputs;
  outputs.reserve(network.layers.size());
  for (const Layer& layer : network.layers) outputs.push_back(layer.outputs());
  std::sort(outputs.begin(), outputs.end(), std::greater<>());
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const bool at_work = i < static_cast<std::size_t>(host_threads());
    bytes += outputs[i] * (kPlannedNeuronBytes + (at_work ? kNeuronAtWorkBytes : 0));
  }
  return bytes;
}

void require_room_to_plan(const Network& network, std::size_t budget) {
  const std::size_t needed = network.bytes() + planning_bytes(network);
  if (needed > budget)
    throw DeviceError("host_memory", fmt::format("network and planning take {}, but {} are available",
                                                 bytes_text(needed), bytes_text(budget)));
}

std::size_t MemoryEstimate::before_running() const {
  if (given < network) return given + reading + std::max(plan, planning);  // at the same time
  return given + std::max({reading, plan, planning});
}

std::size_t MemoryEstimate::host_peak() const {
  const std::size_t running = shared + plan + (device == Device::cpu ? engine : 0);
  return program + images + std::max(before_running(), running);
}

MemoryEstimate estimate_memory(const std::string& path, const Network& network, const Plan& plan,
                               const Variant& variant, const EngineOptions& options, Index images) {
  MemoryEstimate estimate{.program = kProgramBytes,
                          .reading = reading_bytes(path, network),
                          .network = network.bytes(),
                          .given = network.bytes(),
                          .planning = planning_bytes(network)};
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

RanksEstimate estimate_on_ranks(const MemoryEstimate& one, const MemoryRange& engine, int ranks, int ranks_per_node) {
  const std::size_t waiting = one.program + one.images + (ranks > 1 ? kMpiBytes : 0);
  const std::size_t plan = one.shared + one.plan;
  const auto add = [&](std::size_t MemoryRange::*field, RanksEstimate& all) {
    const std::size_t own = waiting + (one.device == Device::cpu ? engine.*field : 0);
    const auto on_node = static_cast<std::size_t>(std::min(ranks, ranks_per_node));
    all.rank.*field = plan + own;
    all.node.*field = plan + on_node * own;
    all.first_node.*field = std::max(all.node.*field, on_node * waiting + one.before_running());
    all.device.*field = one.device == Device::cpu ? 0 : engine.*field;
  };
  RanksEstimate all;
  add(&MemoryRange::most, all);
  add(&MemoryRange::least, all);
  return all;
}

}  // namespace spdnn
