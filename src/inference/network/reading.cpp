// Reads the network, or what is needed of it, and the images; or takes them from memory.

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "core/threads/parallel.hpp"
#include "inference/network/memory_estimate.hpp"
#include "inference/network/planned_network.hpp"
#include "inference/network/steps.hpp"
#include "inference/ranks/rank_resources.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "inference/run/activations.hpp"
#include "inference/run/load.hpp"
#include "io/files/path_kind.hpp"

namespace spdnn {

void Inference::Steps::load() {
  begin_load();
  if (ranks_.is_root()) {
    use_checkpoint_passes();
    read();
  } else {
    read_images(0);
  }
  stage_ = Stage::loaded;
}

void Inference::Steps::load(Network network, ImageSet images) {
  begin_load();
  const Stopwatch watch;
  network.validate();
  use_checkpoint_passes();
  official_network_ = is_official(network);
  network_ = std::move(network);
  take_images(std::move(images), network_->inputs());
  report_.seconds.read = watch.seconds();
}

void Inference::Steps::load(const PlannedNetwork& planned, ImageSet images) {
  begin_load();
  const Stopwatch watch;
  const PlannedNetwork::Contents& contents = *planned.contents_;
  if (spec_.activations) require_exact_activations(contents.plan.passes);
  plan_ = contents.plan;
  plan_is_there_ = true;
  planned_on_cuda_ = contents.planned_on_cuda;
  official_network_ = contents.official;
  network_ = contents.network;
  take_images(std::move(images), network_->inputs());
  report_.seconds.read = watch.seconds();
}

void Inference::Steps::take_images(ImageSet images, Index inputs) {
  images.validate();
  if (images.neurons() != inputs)
    throw std::invalid_argument(
        fmt::format("the images have {} neurons, but the network has {} inputs", images.neurons(), inputs));
  truth_ = read_truth(spec_.truth, &reader_notes_);
  read_images(inputs, std::move(images));
  stage_ = Stage::loaded;
}

void Inference::Steps::read_images(Index neurons, std::optional<ImageSet> given) {
  std::optional<ThreadLimit> limit;  // ranks that read share their processors
  if (!ranks_.is_alone()) limit.emplace(threads_of(ranks_, 0));
  const bool again = ranks_.is_root() && !ranks_.is_alone() && truth_.wanted();
  if (again && given) input_images_ = [all = *given](std::span<const Index> ids) { return all.select(ids); };
  ReadImages read = read_images_on_ranks(ranks_, spec_.images, neurons, spec_.progress, std::move(given));
  if (again && !input_images_) input_images_ = images_of_input(spec_.images, neurons, read.images);
  note(read.notes);
  report_.images_read_by = read.by;
  images_ = RunImages(ranks_, std::move(read));
}

void Inference::Steps::read() {
  truth_ = read_truth(spec_.truth, &reader_notes_);
  Stopwatch watch;
  const std::size_t budget = host_budget(spec_.host_memory);
  StoredPlan stored = stored_plan(spec_.network, spec_.passes, budget / 4 * 3);
  note(stored.notes);
  if (stored.plan) {
    plan_ = std::move(*stored.plan);
    plan_is_there_ = plan_was_stored_ = true;
    official_network_ = claims_official(plan_);
    report_.seconds.plan = watch.lap();
  }
  read_network(budget);
  const Index neurons = stream_ ? stream_->network.inputs() : network_ ? network_->inputs() : plan_.inputs();
  const std::size_t taken = spec_.host_memory == 0 ? 0 : plan_.bytes();  // by a stored plan
  const std::size_t room = budget - std::min(budget, taken);
  const auto sharing = static_cast<std::size_t>(sharers());
  const auto ranks = static_cast<std::size_t>(ranks_.place().ranks);
  require_room_for_images(spec_.images, neurons, spec_.images.mnist.empty() ? room / sharing * ranks : room);
  read_images(neurons);
  require_room_for_images(images_.mine().bytes() * sharing, room);
  report_.seconds.read = watch.lap();
}

void Inference::Steps::read_network(std::size_t budget) {
  if (plan_is_there_ && !needs_network()) return;
  stream_ = stream_if_too_large(spec_.network, budget);
  if (stream_) return;
  if (needs_network() ? !ranks_.is_alone() : may_plan_while_reading(spec_.passes))
    stream_ = stream_to_save_memory(spec_.network, !needs_network());
  if (streams_all()) return;
  read_whole_network(budget);
}

void Inference::Steps::read_whole_network(std::size_t budget) {
  require_room_for_text(spec_.network, budget);
  GivenNetwork given = load_network(spec_.network, spec_.progress);
  if (plan_is_there_) check_stored_plan(spec_.network.path, plan_, given.network);
  official_network_ = given.official;
  note(given.notes);
  network_ = std::move(given.network);
  require_room(spec_.network, *network_, spec_.host_memory);
  if (!plan_is_there_) require_room_to_plan(*network_, budget);
}

void Inference::Steps::note(const std::vector<std::string>& notes) {
  reader_notes_.insert(reader_notes_.end(), notes.begin(), notes.end());
}

bool Inference::Steps::continues() const {
  return !spec_.checkpoint.empty() && path_kind(spec_.checkpoint) != PathKind::missing;
}

void Inference::Steps::use_checkpoint_passes() {
  if (!continues()) return;
  const Passes asked = std::exchange(spec_.passes, passes_to_continue(spec_.checkpoint, spec_.passes));
  if (spec_.passes != asked)
    note({fmt::format("the run continues with the passes that it began with: {}", to_string(spec_.passes))});
}

}  // namespace spdnn
