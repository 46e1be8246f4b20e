#include "inference/network/inspect.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/text/amounts.hpp"
#include "core/threads/parallel.hpp"
#include "inference/device/device_start.hpp"
#include "inference/network/streaming.hpp"
#include "inference/run/run.hpp"
#include "plan/planner.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

planning::TwinFinder finder_of(const InferenceSpec& spec) { return finder_on(spec.plan_device.value_or(Device::cpu)); }

void estimate(const InferenceSpec& spec, const Network& network, const InspectedRun& run, EngineOptions options,
              InspectedNetwork& made) {
  // Assumes the number of threads that a rank gets on a node like this one.
  if (options.threads == 0) options.threads = std::max(1, host_threads() / run.ranks_per_node);
  options.precision = made.choice.precision;
  options.in_steps = run.checkpoint;
  made.threads = options.threads;
  const Variant& variant = *made.choice.variant;
  made.rank = estimate_memory(spec.network.path, network, made.plan, variant, options, run.share());
  const bool by_device = spec.plan_device == Device::cuda;
  if (!by_device && may_plan_while_reading(spec.passes))
    if (const auto streamed = stream_to_save_memory(spec.network, true))
      made.rank.given = std::min(made.rank.network, streamed->bytes_at_once());
  const auto engine = [&](Index images) { return batch_bytes(variant, made.plan, {images, true, true}, options); };
  made.memory = estimate_on_ranks(made.rank, {engine(run.share()), engine(1)}, run.ranks, run.ranks_per_node);
}

}  // namespace

GivenNetwork load_to_inspect(const InferenceSpec& spec, std::size_t host_memory) {
  finder_of(spec);  // refuses a missing device before the network is read
  const std::size_t budget = host_budget(host_memory);
  if (const auto large = stream_if_too_large(spec.network, budget))
    throw DeviceError(fmt::format("the network takes {} in memory, more than is available; infer streams its layers",
                                  bytes_text(large->network.bytes())));
  require_room_for_text(spec.network, budget);
  GivenNetwork given = load_network(spec.network, spec.progress);
  require_room_to_plan(given.network, budget);
  return given;
}

InspectedNetwork inspected_network(const InferenceSpec& spec, const GivenNetwork& given, const InspectedRun& run) {
  const planning::TwinFinder find_twins = finder_of(spec);
  InspectedNetwork made{.plan = make_plan(given.network, spec.passes, find_twins), .notes = given.notes};
  if (spec.passes.twins && find_twins) made.notes.emplace_back(kPlannedOnCuda);
  EngineOptions options{.threads = spec.threads};
  made.choice = choose_engine({.variant = spec.variant, .device = spec.device, .network = spec.network.path}, made.plan,
                              BatchInfo{run.share(), true, true}, options);
  made.layers = describe(given.network, made.plan);
  estimate(spec, given.network, run, options, made);
  return made;
}

}  // namespace spdnn
