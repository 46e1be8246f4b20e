#include "program/tune.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <utility>

#include "core/system/host_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "program/bound_program.hpp"
#include "program/measured.hpp"
#include "program/skipping_first.hpp"
#include "spdnn/types.hpp"

namespace spdnn::program {

namespace {

constexpr int kTurns = 15;

/// A program in memory, to be timed; every number of the images is 1/2.
class Candidate {
 public:
  Candidate(const Model& model, Program program, Target* target)
      : target_(target),
        program_(std::move(program)),
        constants_(target),
        bound_(program_, constants_, {host_memory(program_.arena.bytes), on_device(program_.device_arena.bytes)},
               target),
        images_(elements(with_batch(model.values[model.inputs.front()].shape, program_.images)).value()),
        device_images_(on_device(program_.device_image_bytes)),
        nodes_(narrow<Index>(model.nodes.size())) {
    std::fill_n(images_.data(), images_.size(), 0.5F);
    const auto* const bytes = reinterpret_cast<const std::byte*>(images_.data());
    if (program_.device_image_bytes > 0) target_->upload(device_images_.get(), bytes, program_.device_image_bytes);
    bound_.set_input(images_.data(), device_images_.get());
  }

  void run() {
    const Stopwatch watch;
    for (std::size_t action = 0; action < bound_.actions();) action = bound_.run(action, nodes_);
    if (target_ != nullptr) target_->wait();
    seconds_ = std::min(seconds_, watch.seconds());
  }
  /// Of the shortest run.
  double seconds() const { return seconds_; }
  Program take() { return std::move(program_); }

 private:
  std::shared_ptr<std::byte> on_device(std::size_t bytes) const {
    return target_ == nullptr ? nullptr : target_->allocate(bytes);
  }

  Target* target_;
  Program program_;
  Constants constants_;
  BoundProgram bound_;
  HostMemory<float> images_;  // aligned like those of a run
  std::shared_ptr<std::byte> device_images_;
  Index nodes_;
  double seconds_ = std::numeric_limits<double>::infinity();
};

/// Runs all in turns, and returns the number of the fastest: of the first, if none is faster than it by more than
/// kWorthMeasuring.
std::size_t chosen_of(const std::vector<std::unique_ptr<Candidate>>& candidates) {
  for (int turn = 0; turn < kTurns; ++turn)
    for (const auto& candidate : candidates) candidate->run();
  const auto best = std::min_element(candidates.begin(), candidates.end(),
                                     [](const auto& a, const auto& b) { return a->seconds() < b->seconds(); });
  const bool other = (*best)->seconds() < (1 - kWorthMeasuring) * candidates.front()->seconds();
  return other ? static_cast<std::size_t>(best - candidates.begin()) : 0;
}

Tuned tuned_on_device(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options) {
  const MeasuredKernels measured(options.kernels, options.target);
  CompileOptions by_measured = options;
  by_measured.kernels = measured.kernels();
  by_measured.every_tiling = true;
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const CompileOptions& with : {by_measured, options})
    candidates.push_back(std::make_unique<Candidate>(model, compile(model, magnitudes, images, with), options.target));
  const std::size_t chosen = chosen_of(candidates);
  Program program = candidates[chosen]->take();
  program.remarks.push_back(fmt::format(
      "kernels by measured times; shortest of {} runs: {:.4g} ms, {:.4g} by predicted ones; the {} is stored", kTurns,
      1e3 * candidates[0]->seconds(), 1e3 * candidates[1]->seconds(), chosen == 0 ? "first" : "second"));
  return {std::move(program), {}};
}

}  // namespace

Tuned tuned(const Model& model, const Magnitudes& magnitudes, Extent images, const CompileOptions& options,
            const Kernels& skipping) {
  if (options.target != nullptr) return tuned_on_device(model, magnitudes, images, options);
  const MeasuredKernels measured(options.kernels);
  Kernels dense;
  Kernels sparse;
  for (std::size_t i = 0; i < options.kernels.size(); ++i) {
    const bool skips = std::find(skipping.begin(), skipping.end(), options.kernels[i]) != skipping.end();
    (skips ? sparse : dense).push_back(measured.kernels()[i]);
  }
  const SkippingFirst skipping_first(sparse, dense);
  std::vector<std::unique_ptr<Candidate>> candidates;
  for (const Kernels& kernels : {measured.kernels(), dense, skipping_first.kernels()}) {
    CompileOptions with = options;
    with.kernels = kernels;
    candidates.push_back(std::make_unique<Candidate>(model, compile(model, magnitudes, images, with), nullptr));
  }
  const std::size_t chosen = chosen_of(candidates);
  Program program = candidates[chosen]->take();
  program.remarks.push_back(fmt::format(
      "kernels by measured times; shortest of {} runs: {:.4g} ms, {:.4g} without skipping zeros, {:.4g} "
      "skipping them wherever a kernel does; the {} is stored",
      kTurns, 1e3 * candidates[0]->seconds(), 1e3 * candidates[1]->seconds(), 1e3 * candidates[2]->seconds(),
      chosen == 0   ? "first"
      : chosen == 1 ? "second"
                    : "third"));
  return {std::move(program), measured.calibration()};
}

}  // namespace spdnn::program
