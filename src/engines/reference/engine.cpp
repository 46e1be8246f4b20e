// cpu_reference: the oracle. fp64, one image row at a time, terms added in the order in which the plan gives them,
// which without `merge` is the order of the given network. Never optimised: plain loops, parallel over images only.

#include "engines/reference/engine.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <utility>

#include "core/threads/cancellation.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/read_ahead.hpp"
#include "engines/image_states.hpp"
#include "engines/overflow.hpp"

namespace spdnn {

namespace {

class ReferenceEngine final : public InspectableEngine {
 public:
  ReferenceEngine(std::shared_ptr<const Plan> plan, const EngineOptions& options)
      : shared_plan_(std::move(plan)),
        plan_(*shared_plan_),
        threads_(host_threads(options.threads)),
        layers_(plan_),
        cancellation_(options.cancelled) {}

  void load(const ImageSet& images) override {
    cancellation_.restart();
    images_ = images.to_csr();
    reset();
  }

  void reset() override {
    states_.assign(images_.rows, ImageState{});
    overflow_at_.assign(images_.rows, kNoOverflow);
    alive_.assign(plan_.depth(), 0);
    active_.assign(plan_.depth(), 0);
    width_ = images_.cols;
    rows_.assign(images_.rows, {});
    for (Index image = 0; image < images_.rows; ++image) {
      rows_[image].assign(width_, 0.0);
      for (Offset k = images_.offsets[image]; k < images_.offsets[image + 1]; ++k)
        rows_[image][images_.indices[k]] += images_.entry_value(k);
    }
    if (plan_.passes.dead && plan_.certificates.dead_from == 0) retire_dead();
  }

  Index advance(Index first, Index until) override {
    for (Index layer = first; layer < until; ++layer) run_layer(layer);
    return until;
  }

  Outcome outcome() override {
    retire_dead();
    Outcome outcome = resolve(states_);
    outcome.alive = alive_;
    outcome.active = active_;
    outcome.overflow = collect_overflow(states_, overflow_at_);
    return outcome;
  }

  std::vector<double> activations() override {
    std::vector<double> all;
    all.reserve(rows_.size() * width_);
    for (Index image = 0; image < images_.rows; ++image) {
      const Index owner = owner_of(image);
      switch (states_[owner].kind) {
        case ImageState::Kind::dead:
          all.insert(all.end(), width_, 0.0);
          break;
        case ImageState::Kind::saturated:
          all.insert(all.end(), width_, *plan_.cap);
          break;
        default:
          all.insert(all.end(), rows_[owner].begin(), rows_[owner].end());
      }
    }
    return all;
  }

 private:
  bool all_equal(Index image, double value) const {
    return std::all_of(rows_[image].begin(), rows_[image].end(), [&](double y) { return y == value; });
  }

  /// The image that stands for this one, which may be itself.
  Index owner_of(Index image) const {
    while (states_[image].kind == ImageState::Kind::duplicate) image = states_[image].duplicate_of;
    return image;
  }

  void retire_dead() {
    for (Index image = 0; image < images_.rows; ++image)
      if (states_[image].kind == ImageState::Kind::undecided && all_equal(image, 0.0))
        states_[image].kind = ImageState::Kind::dead;
  }

  void run_layer(Index number) {
    constexpr Index kImages = 16;  // that a thread takes at a time
    const Layer layer = layers_.layer(number);
    std::atomic<Index> next = 0;
    run_team(threads_, [&](int, int) {
      for (Index first = next.fetch_add(kImages); first < images_.rows; first = next.fetch_add(kImages))
        for (Index image = first; image < std::min(first + kImages, images_.rows); ++image)
          if (states_[image].kind == ImageState::Kind::undecided) run_image(layer, number, image);
    });
    width_ = layer.outputs();

    if (plan_.passes.dead && number + 1 >= plan_.certificates.dead_from) retire_dead();
    if (plan_.passes.saturated && number + 1 >= plan_.certificates.saturated_from) {
      for (Index image = 0; image < images_.rows; ++image)
        if (states_[image].kind == ImageState::Kind::undecided && width_ > 0 && all_equal(image, *plan_.cap))
          states_[image].kind = ImageState::Kind::saturated;
    }
    if (plan_.passes.identical) retire_duplicates();
    count_alive(number);
  }

  void run_image(const Layer& layer, Index number, Index image) {
    cancellation_.check();
    const CsrMatrix& weights = layer.weights;
    const std::vector<double>& y = rows_[image];
    std::vector<double> next(layer.outputs());
    for (Index j = 0; j < layer.outputs(); ++j) {
      double z = 0.0;
      for (Offset k = weights.offsets[j]; k < weights.offsets[j + 1]; ++k)
        z += y[weights.indices[k]] * weights.entry_value(k);
      if (plan_.bias_rule == BiasRule::everywhere || z != 0.0) z += layer.bias[j];
      if (!std::isfinite(z) && overflow_at_[image] == kNoOverflow) overflow_at_[image] = number;
      next[j] = std::max(z, 0.0);
      if (plan_.cap) next[j] = std::min(next[j], *plan_.cap);
    }
    rows_[image] = std::move(next);
  }

  void retire_duplicates() {
    std::map<std::vector<double>, Index> owners;
    for (Index image = 0; image < images_.rows; ++image) {
      if (states_[image].kind != ImageState::Kind::undecided || overflow_at_[image] != kNoOverflow) continue;
      const auto [owner, fresh] = owners.try_emplace(rows_[image], image);
      if (!fresh) states_[image] = {ImageState::Kind::duplicate, owner->second};
    }
  }

  void count_alive(Index number) {
    for (Index image = 0; image < images_.rows; ++image) {
      const Index owner = owner_of(image);
      const bool alive = states_[owner].kind == ImageState::Kind::saturated ||
                         (states_[owner].kind == ImageState::Kind::undecided && !all_equal(owner, 0.0));
      alive_[number] += alive ? 1 : 0;
      active_[number] += states_[image].kind == ImageState::Kind::undecided ? 1 : 0;
    }
  }

  const std::shared_ptr<const Plan> shared_plan_;
  const Plan& plan_;
  int threads_;
  ReadAhead layers_;
  Cancellation cancellation_;
  CsrMatrix images_;
  std::vector<std::vector<double>> rows_;  ///< one per loaded image; retired images keep their last values
  std::vector<ImageState> states_;
  std::vector<Index> overflow_at_;  ///< by image, the first layer with a sum that is not finite
  std::vector<std::int64_t> alive_;
  std::vector<std::int64_t> active_;
  Index width_ = 0;
};

}  // namespace

Support support_cpu_reference(const Plan& plan, const BatchInfo& batch, const EngineOptions& options) {
  if (plan.passes.merge)
    return {
        .why_not =
            "cpu_reference: a merged plan has another order of summation than the given one; cpu_openmp supports any"};
  const std::size_t row_bytes = std::size_t{plan.max_width()} * sizeof(double) + sizeof(std::vector<double>);
  const auto threads = static_cast<std::size_t>(host_threads(options.threads));
  const std::size_t list_bytes = batch.bits ? plan.inputs() * sizeof(Index) + sizeof(Offset) : 0;  // bits become lists
  const std::size_t image_bytes = row_bytes + list_bytes + sizeof(ImageState) + sizeof(Index);
  return {.preference = Preference::last_resort,
          .working_bytes = std::size_t{batch.images} * image_bytes + threads * row_bytes};
}

std::unique_ptr<Engine> make_cpu_reference(std::shared_ptr<const Plan> plan, const BatchInfo& /*batch*/,
                                           const EngineOptions& options) {
  return std::make_unique<ReferenceEngine>(std::move(plan), options);
}

}  // namespace spdnn
