#include "engines/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <stdexcept>

#include "core/stopwatch.hpp"
#include "engines/memory_budget.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

/// `merge` has its error bounds for images with values in [0, 1] only.
bool within_error_bounds(const ImageSet& images) {
  if (images.is_bits()) return true;
  const CsrMatrix& sparse = images.sparse();
  const auto fits = [](float value) { return value >= 0.0F && value <= 1.0F; };
  return sparse.uniform() ? fits(sparse.value) : std::all_of(sparse.values.begin(), sparse.values.end(), fits);
}

/// Puts `part`, the outcome of the images from `first` on, behind what `all` holds.
void append(Outcome& all, const Outcome& part, Index first) {
  for (const Index image : part.categories) all.categories.push_back(first + image);
  for (const Index image : part.borderline) all.borderline.push_back(first + image);
  all.saturated += part.saturated;
  all.identical += part.identical;
  for (std::size_t k = 0; k < all.alive.size(); ++k)
    all.alive[k] = all.alive[k] < 0 || part.alive[k] < 0 ? -1 : all.alive[k] + part.alive[k];
}

/// One batch from "resident" to "categories known".
Outcome infer_once(Engine& engine, Index depth, Progress& progress) {
  engine.reset();
  for (Index layer = 0; layer < depth;) {
    layer = engine.advance(layer, depth);
    progress.update(layer);
  }
  return engine.outcome();
}

/// All trials of one batch: adds each trial's seconds to result.infer_seconds.
Outcome infer_batch(Engine& engine, Index depth, const RunOptions& options, RunResult& result) {
  std::optional<Outcome> first;
  for (int trial = 0; trial < options.trials; ++trial) {
    Progress progress(options.progress, fmt::format("infer, trial {} of {}", trial + 1, options.trials), depth);
    Stopwatch watch;
    Outcome outcome = infer_once(engine, depth, progress);
    result.infer_seconds[static_cast<std::size_t>(trial)] += watch.seconds();
    if (first && (first->categories != outcome.categories || first->borderline != outcome.borderline))
      throw std::logic_error(fmt::format("trial {} gave other categories than the first", trial + 1));
    if (!first) first = std::move(outcome);
  }
  return std::move(*first);
}

/// Images that `merge` could not decide are run in the given order; their time counts as inference of every trial.
void settle_borderline(const Variant& variant, const Plan& plan, const ImageSet& images, const RunOptions& options,
                       RunResult& result) {
  RunOptions rest = options;
  rest.batch = 0;
  const RunResult again = run(variant, *plan.in_order, images.select(result.outcome.borderline), rest);
  for (const Index hit : again.outcome.categories) result.outcome.categories.push_back(result.outcome.borderline[hit]);
  std::sort(result.outcome.categories.begin(), result.outcome.categories.end());
  result.upload_seconds += again.upload_seconds;
  for (std::size_t trial = 0; trial < result.infer_seconds.size(); ++trial)
    result.infer_seconds[trial] += again.infer_seconds[trial];
}

}  // namespace

Index automatic_batch(const Variant& variant, const Plan& plan, const EngineOptions& options, Index images) {
  const std::size_t budget = memory_budget(variant.device, options);
  const auto fits = [&](Index batch) { return variant.working_bytes(plan, options, batch) <= budget; };
  if (images <= 1 || fits(images)) return std::max<Index>(images, 1);
  if (!fits(1))
    throw DeviceError(fmt::format("{} needs {} MB for one image; {} MB are free", variant.name,
                                  variant.working_bytes(plan, options, 1) >> 20U, budget >> 20U));
  Index low = 1;
  Index high = images;
  while (high - low > 1) {
    const Index middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  const Index batches = (images + low - 1) / low;  // equal batches: the last is as full as the others
  return (images + batches - 1) / batches;
}

RunResult run(const Variant& variant, const Plan& plan, const ImageSet& images, const RunOptions& options) {
  if (images.neurons() != plan.inputs())
    throw DataError(fmt::format("the images have {} neurons, the network {} inputs", images.neurons(), plan.inputs()));
  if (plan.passes.merge && !within_error_bounds(images)) return run(variant, *plan.in_order, images, options);

  RunResult result;
  result.infer_seconds.assign(static_cast<std::size_t>(options.trials), 0.0);
  result.outcome.alive.assign(plan.depth(), 0);
  Stopwatch watch;
  const auto engine = variant.make(plan, options.engine);
  result.upload_seconds = watch.lap();
  result.batch = options.batch > 0 ? std::min(options.batch, std::max<Index>(images.images(), 1))
                                   : automatic_batch(variant, plan, options.engine, images.images());
  for (Index first = 0; first < images.images(); first += std::min(result.batch, images.images() - first)) {
    watch.lap();
    engine->load(images.slice(first, std::min(result.batch, images.images() - first)));
    result.upload_seconds += watch.lap();
    const Outcome outcome = infer_batch(*engine, plan.depth(), options, result);
    watch.lap();
    append(result.outcome, outcome, first);
    result.gather_seconds += watch.lap();
  }
  if (!result.outcome.borderline.empty()) settle_borderline(variant, plan, images, options, result);
  return result;
}

}  // namespace spdnn
