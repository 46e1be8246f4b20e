// cpu_openmp: tiles of images, one row of lanes per neuron. Each thread takes a tile through all layers before the next
// (runner.hpp), with the kernels of the best instruction set of this processor (kernels.hpp). README.md has the
// overview.

#include "engines/cpu/tiles/engine.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <mutex>
#include <numeric>
#include <utility>

#include "core/threads/parallel.hpp"
#include "core/threads/waiting.hpp"
#include "core/types/counted_csr.hpp"
#include "core/types/read_ahead.hpp"
#include "engines/cpu/tiles/common_factor.hpp"
#include "engines/cpu/tiles/dispatch.hpp"
#include "engines/cpu/tiles/pinning.hpp"
#include "engines/cpu/tiles/runner.hpp"
#include "engines/image_states.hpp"
#include "engines/overflow.hpp"

namespace spdnn {

namespace {

using namespace tiles;  // NOLINT(google-build-using-namespace): this file is the front of it

constexpr Index kMostCompactionPoints = 40;                    ///< a phase of 2048 layers
constexpr Index kFewestCompactionPoints = 4;                   ///< a phase of 4 layers
constexpr std::size_t kWaitingBytes = std::size_t{32} << 20U;  ///< of tiles that wait, per thread

/// As many as the plan's depth can use, within the memory budget.
Index compaction_point_count(const Plan& plan) {
  const std::size_t tile_bytes = std::max<std::size_t>(1, plan.max_outputs() * kLaneBytes);
  const auto most = static_cast<Index>(
      std::clamp<std::size_t>(kWaitingBytes / tile_bytes, kFewestCompactionPoints, kMostCompactionPoints));
  const Phase phase(0, plan.depth(), most);
  return std::min(
      most, static_cast<Index>(std::count(phase.is_compaction_point.begin(), phase.is_compaction_point.end(), true)));
}

/// The maximum number of layers of a phase. For streamed layers, half of those that fit in memory: the other half is
/// read meanwhile.
Index most_layers_at_once(const Plan& plan) { return plan.streamed ? plan.streamed->at_once / 2 : plan.depth(); }

Phase phase_of(const Plan& plan, Index first, Index until) {
  return {first, first + std::min(until - first, most_layers_at_once(plan)), compaction_point_count(plan)};
}

bool needs_store(const Plan& plan) { return phase_of(plan, 0, plan.depth()).until < plan.depth(); }

/// Threads write full tiles, except for one tile each.
template <class T>
std::size_t slot_count(Index images, int threads) {
  return std::size_t{images} / kLanes<T> + 1 + static_cast<std::size_t>(threads);
}

template <class T>
class OpenmpEngine final : public InspectableEngine, public SharingEngine {
 public:
  OpenmpEngine(std::shared_ptr<const Plan> plan, const EngineOptions& options, const Kernels<T>& kernels)
      : plan_(std::move(plan)),
        shared_{.plan = *plan_,
                .kernels = kernels,
                .layers = {},
                .inputs = {},
                .store = {},
                .states = {},
                .multiply_once = {},
                .cancellation = Cancellation(options.cancelled)},
        threads_(host_threads(options.threads)),
        may_overflow_(options.may_overflow),
        layers_(*plan_, most_layers_at_once(*plan_)) {
    shared_.store.stride = std::size_t{plan_->max_outputs()} * kLanes<T>;
    for (int thread = 0; thread < threads_; ++thread)
      runners_.push_back(std::make_unique<TileRunner<T>>(shared_, compaction_point_count(*plan_)));
  }

  void load(const ImageSet& images) override {
    shared_.cancellation.restart();
    pins_ = !waiting::machine_is_busy();
    shared_.inputs.load(images);
    shared_.multiply_once = common_factors<T>(shared_.plan, images);
    for (const auto& runner : runners_) runner->load();
    next_part_ = {};
    taken_.clear();
    has_taken_ = false;
    if (shared_.store.lane_maps.size() != slot_count<T>(loaded(), threads_)) drop_store();
    if (needs_store(shared_.plan)) make_store();
    reset();
  }

  void reset() override {
    shared_.states.reset(loaded(), shared_.plan.passes.merge, may_overflow_);
    shared_.store.occupied.clear();
    shared_.store.next_unused = 0;
    for (const auto& runner : runners_) runner->retirer().reset();
    layers_done_ = 0;
  }

  Index advance(Index first, Index until) override {
    const Phase phase = phase_of(shared_.plan, first, until);
    shared_.layers.clear();
    shared_.layers.reserve(most_layers_at_once(shared_.plan));
    for (Index layer = first; layer < phase.until; ++layer) shared_.layers.push_back(layers_.layer(layer));
    Store<T>& store = shared_.store;
    if (phase.until < shared_.plan.depth()) make_store();
    std::atomic<Index> counter = 0;
    const Index count = first == 0 ? tiles() : narrow<Index>(store.occupied.size());
    std::function<Index()> next = [&] { return counter++; };
    if (first == 0 && next_part_) next = [&] { return has_taken_ ? taken_again(counter++) : take(); };
    for_each_thread([&](std::size_t member) { runners_[member]->run(phase, next, count); });
    has_taken_ = true;
    store.occupied.clear();
    for (const auto& runner : runners_)
      store.occupied.insert(store.occupied.end(), runner->stored().begin(), runner->stored().end());
    layers_done_ = phase.until;
    return phase.until;
  }

  Outcome outcome() override {
    if (layers_done_ == 0) retire_zero_inputs();
    if (next_part_) leave_to_others();
    Outcome outcome = resolve(shared_.states.states);
    outcome.alive.assign(shared_.plan.depth(), 0);
    outcome.active.assign(shared_.plan.depth(), 0);
    for (const auto& runner : runners_) {
      const Retirer<T>& retirer = runner->retirer();
      std::int64_t saturated = 0;
      for (Index layer = 0; layer < shared_.plan.depth(); ++layer) {
        saturated += retirer.saturated()[layer];
        outcome.alive[layer] += retirer.alive()[layer] + saturated;
        outcome.active[layer] += retirer.active()[layer];
      }
    }
    for (const Index image : outcome.borderline) {  // the run in the given order counts them
      const Index given_up = shared_.states.borderline_at[shared_.states.owner_of(image)];
      for (Index layer = 0; layer + 1 < given_up; ++layer) --outcome.alive[layer];
    }
    outcome.overflow = collect_overflow(shared_.states.states, shared_.states.overflow_at);
    return outcome;
  }

  void share(NextPart next) override { next_part_ = std::move(next); }
  Index images_per_part() const override { return kLanes<T>; }
  const std::vector<Index>& taken() const override { return taken_; }

  std::vector<double> activations() override {
    if (layers_done_ == 0) return inputs();
    keep_last_rows();
    const Index width = shared_.plan.outputs(layers_done_ - 1);
    std::vector<double> all(std::size_t{loaded()} * width, 0.0);
    const auto row = [&](Index image) { return all.begin() + static_cast<std::ptrdiff_t>(std::size_t{image} * width); };
    for (const Index slot : shared_.store.occupied) {
      const LaneMap<T>& lane_map = shared_.store.lane_maps[slot];
      const T* tile = shared_.store.slot(slot);
      for_each_lane(lane_map.lanes, [&](Index lane) {
        for (Index j = 0; j < width; ++j) row(lane_map.images[lane])[j] = tile[std::size_t{j} * kLanes<T> + lane];
      });
    }
    for (Index image = 0; image < loaded(); ++image) {
      const Index owner = shared_.states.owner_of(image);
      if (shared_.states.states[owner].kind == ImageState::Kind::saturated)
        std::fill_n(row(image), width, static_cast<double>(static_cast<T>(*shared_.plan.cap)));
      else if (owner != image)
        std::copy_n(row(owner), width, row(image));
    }
    return all;
  }

  std::optional<CsrMatrix> sparse_activations(std::size_t most) override {
    if (layers_done_ == 0) return {};
    keep_last_rows();
    CountedCsr csr(loaded(), shared_.plan.outputs(layers_done_ - 1));
    count_tiles(csr);
    const auto cap = static_cast<float>(shared_.plan.cap.value_or(0));
    std::vector<Index> retired;  // whose row is in no tile; zeros need none
    for (Index image = 0; image < loaded(); ++image) {
      const Index owner = shared_.states.owner_of(image);
      const bool saturated = shared_.states.states[owner].kind == ImageState::Kind::saturated && cap != 0;
      if (!saturated && owner == image) continue;
      csr.count(image) = saturated ? shared_.plan.outputs(layers_done_ - 1) : csr.count(owner);
      retired.push_back(image);
    }
    csr.make_room(most);
    fill_tiles(csr);
    parallel_for(retired.size(), [&](std::size_t i) {
      const Index owner = shared_.states.owner_of(retired[i]);
      const Offset begin = csr.begin(retired[i]);
      const Offset count = csr.begin(retired[i] + 1) - begin;
      if (shared_.states.states[owner].kind == ImageState::Kind::saturated) {
        std::iota(csr.indices() + begin, csr.indices() + begin + count, Index{0});
        std::fill_n(csr.values() + begin, count, cap);
      } else {
        std::copy_n(csr.indices() + csr.begin(owner), count, csr.indices() + begin);
        std::copy_n(csr.values() + csr.begin(owner), count, csr.values() + begin);
      }
    });
    return csr.matrix();
  }

 private:
  Index tiles() const { return (loaded() + kLanes<T> - 1) / kLanes<T>; }

  /// The next tile of those that processes share, for any thread.
  Index take() {
    const std::scoped_lock lock(taking_);
    const Index tile = next_part_(tiles());
    if (tile < tiles()) taken_.push_back(tile);
    return tile;
  }
  Index taken_again(Index number) const { return number < taken_.size() ? taken_[number] : tiles(); }
  /// Images that others have taken are none of this engine's.
  void leave_to_others() {
    std::vector<bool> mine(tiles(), false);
    for (const Index tile : taken_) mine[tile] = true;
    for (Index image = 0; image < loaded(); ++image)
      if (!mine[image / kLanes<T>]) shared_.states.states[image].kind = ImageState::Kind::dead;
  }

  Index loaded() const { return shared_.inputs.images().images(); }

  /// If the rows after the last layer were not kept, computes the layers again.
  void keep_last_rows() {
    if (!shared_.store.lane_maps.empty()) return;
    make_store();
    reset();
    for (Index layer = 0; layer < shared_.plan.depth();) layer = advance(layer, shared_.plan.depth());
  }

  /// Calls work(lane_map, rows) in parallel, with the rows of all lanes of a tile: one per neuron.
  template <class Work>
  void for_tiles(const Work& work) {
    const Store<T>& store = shared_.store;
    parallel_for(store.occupied.size(),
                 [&](std::size_t i) { work(store.lane_maps[store.occupied[i]], store.slot(store.occupied[i])); });
  }

  void count_tiles(CountedCsr& csr) {
    const Index width = shared_.plan.outputs(layers_done_ - 1);
    for_tiles([&](const LaneMap<T>& lane_map, const T* rows) {
      std::array<Index, kLanes<T>> counts{};
      for (Index j = 0; j < width; ++j, rows += kLanes<T>)
        for (Index lane = 0; lane < kLanes<T>; ++lane) counts[lane] += rows[lane] != 0 ? 1 : 0;
      for_each_lane(lane_map.lanes, [&](Index lane) { csr.count(lane_map.images[lane]) = counts[lane]; });
    });
  }

  void fill_tiles(CountedCsr& csr) {
    const Index width = shared_.plan.outputs(layers_done_ - 1);
    for_tiles([&](const LaneMap<T>& lane_map, const T* rows) {
      std::array<Offset, kLanes<T>> entries{};
      for_each_lane(lane_map.lanes, [&](Index lane) { entries[lane] = csr.begin(lane_map.images[lane]); });
      for (Index j = 0; j < width; ++j, rows += kLanes<T>)
        for_each_lane(lane_map.lanes, [&](Index lane) {
          if (rows[lane] != 0) csr.put(entries[lane]++, j, static_cast<float>(rows[lane]));
        });
    });
  }

  void make_store() {
    Store<T>& store = shared_.store;
    if (!store.lane_maps.empty()) return;
    const std::size_t slots = slot_count<T>(loaded(), threads_);
    store.memory = HostMemory<T>(slots * store.stride);
    store.lane_maps.resize(slots);
  }
  void drop_store() {
    shared_.store.lane_maps.clear();
    shared_.store.memory = {};
  }

  std::vector<double> inputs() const {
    const CsrMatrix rows = shared_.inputs.images().to_csr();
    std::vector<double> all(std::size_t{rows.rows} * rows.cols, 0.0);
    for (Index image = 0; image < rows.rows; ++image)
      for (Offset k = rows.offsets[image]; k < rows.offsets[image + 1]; ++k)
        all[std::size_t{image} * rows.cols + rows.indices[k]] += rows.entry_value(k);
    return all;
  }

  void retire_zero_inputs() {  // without layers, the categories are the images with a non-zero
    const CsrMatrix rows = shared_.inputs.images().to_csr();
    for (Index image = 0; image < rows.rows; ++image)
      if (rows.degree(image) == 0) shared_.states.states[image].kind = ImageState::Kind::dead;
  }

  template <class Work>
  void for_each_thread(Work work) {
    run_team(threads_, [&](int member, int thread) {
      std::optional<ScopedPin> pin;
      if (pins_) pin.emplace(thread, threads_);
      work(static_cast<std::size_t>(member));
    });
  }

  const std::shared_ptr<const Plan> plan_;
  Shared<T> shared_;
  int threads_;
  bool may_overflow_;
  bool pins_ = true;  ///< on a busy machine, a thread runs sooner where the system puts it
  ReadAhead layers_;
  std::vector<std::unique_ptr<TileRunner<T>>> runners_;  ///< one per thread
  Index layers_done_ = 0;
  NextPart next_part_;  ///< empty where all images are this engine's
  std::mutex taking_;
  std::vector<Index> taken_;
  bool has_taken_ = false;  ///< all that there is to take
};

template <class T>
std::unique_ptr<Engine> make(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                             std::size_t instruction_set) {
  return std::make_unique<OpenmpEngine<T>>(std::move(plan), options, *available_kernels<T>().at(instruction_set));
}

template <class T>
std::size_t working_bytes(const Plan& plan, const EngineOptions& options, Index images) {
  const int threads = host_threads(options.threads);
  const std::size_t slot_bytes = plan.max_outputs() * kLaneBytes + sizeof(LaneMap<T>);
  return static_cast<std::size_t>(threads) * TileRunner<T>::bytes(plan, compaction_point_count(plan)) +
         most_layers_at_once(plan) * sizeof(Layer) +
         (needs_store(plan) || options.in_steps ? slot_count<T>(images, threads) * slot_bytes : 0) +
         std::size_t{images} * (sizeof(ImageState) + 2 * sizeof(Index));
}

}  // namespace

std::unique_ptr<Engine> make_cpu_openmp(std::shared_ptr<const Plan> plan, const EngineOptions& options,
                                        std::size_t instruction_set) {
  if (options.precision == Precision::fp64) return make<double>(std::move(plan), options, instruction_set);
  return make<float>(std::move(plan), options, instruction_set);
}

Support support_cpu_openmp(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  return {.shares = true,
          .working_bytes = options.precision == Precision::fp64 ? working_bytes<double>(plan, options, batch.images)
                                                                : working_bytes<float>(plan, options, batch.images)};
}

std::unique_ptr<Engine> make_cpu_openmp(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                        const EngineOptions& options) {
  return make_cpu_openmp(std::move(plan), options, 0);
}

}  // namespace spdnn
