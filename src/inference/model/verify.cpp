#include "inference/model/verify.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "core/text/amounts.hpp"
#include "core/threads/cancellation.hpp"
#include "core/types/progress.hpp"
#include "engines/devices.hpp"
#include "inference/model/accuracy.hpp"
#include "inference/model/comparer.hpp"
#include "inference/model/probabilities.hpp"
#include "inference/model/run.hpp"
#include "model/graph/quantised.hpp"
#include "model/oracle/evaluate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr Index kMostReferenceImages = 16;  ///< between two updates of the progress

/// The images that the reference takes at a time.
Index images_at_once(const Model& model, std::size_t host_memory) {
  if (const auto fixed = fixed_batch(model)) return *fixed;
  const std::size_t each =
      support_of(find_model_variant("conv_reference"), model, {.precision = Precision::fp64}).working_bytes;
  const std::size_t budget = memory_budget(Device::cpu, {.host_memory = host_memory});
  if (each > budget)
    throw DeviceError("host_memory", fmt::format("the reference needs {} for one image at a time, but {} are available",
                                                 bytes_text(each), bytes_text(budget)));
  return static_cast<Index>(std::clamp<std::size_t>(budget / std::max<std::size_t>(each, 1), 1, kMostReferenceImages));
}

/// The numbers of one image of a tensor of several.
std::span<const float> numbers_of(const Tensor& tensor, Index image) {
  const std::size_t each = tensor.values.size() / static_cast<std::size_t>(tensor.shape[0]);
  return tensor.values.span().subspan(image * each, each);
}

/// The images on which the reference runs, and how.
struct ReferenceRun {
  const Model& model;
  const Tensor& images;
  Index count;  ///< of images, from the first
  Index step;   ///< images at a time
  const std::function<bool()>& cancelled;

  /// Calls take(first, some, batch) for some images at a time.
  void for_batches(const std::function<void(Index, Index, const Tensor&)>& take) const {
    Cancellation cancellation(cancelled);
    for (Index first = 0; first < count; first += step) {
      cancellation.check();
      const Index some = fixed_batch(model) ? step : std::min(step, count - first);
      take(first, some, images_from(images, first, some));
    }
  }
};

/// The outputs of some images, computed in another way than by evaluate().
using Otherwise = std::function<std::vector<Bounded>(const Tensor&)>;

/// Compares image `i` of the outputs of some, computed otherwise, with the reference's.
void add_moved(Comparer& moved, const std::vector<Bounded>& exact, const std::vector<Bounded>& other, Index i,
               Index image) {
  std::vector<std::vector<float>> found;
  std::vector<Compared> compared;
  for (std::size_t o = 0; o < exact.size(); ++o) {
    const std::size_t each = exact[o].values.size() / static_cast<std::size_t>(exact[o].shape[0]);
    const auto part = [&](const std::vector<double>& numbers) { return std::span(numbers).subspan(i * each, each); };
    const auto numbers = part(other[o].values);
    found.emplace_back(numbers.begin(), numbers.end());
    compared.push_back({found.back(), part(exact[o].values), part(exact[o].bounds)});
  }
  moved.add(image, compared);
}

/// By output, by how many tolerances it is off the reference in the farthest of other ways.
std::vector<double> moved_by(const ReferenceRun& run, const std::vector<OutputComparer>& outputs,
                             const std::vector<Otherwise>& ways) {
  Comparer moved("", 0, outputs);
  run.for_batches([&](Index first, Index some, const Tensor& batch) {
    const std::vector<Bounded> exact = evaluate(run.model, {batch}, run.cancelled);
    for (const Otherwise& way : ways) {
      const std::vector<Bounded> other = way(batch);
      for (Index i = 0; i < some && first + i < run.count; ++i) add_moved(moved, exact, other, i, first + i);
    }
  });
  std::vector<double> excess;
  for (const OutputCheck& output : moved.take().outputs) excess.push_back(output.largest_excess);
  return excess;
}

/// By output, the factor by which its tolerance is widened, if that is not too wide: see OutputCheck::kRoundings,
/// kDecisions and kMostDecided.
std::vector<double> widened_by(const ReferenceRun& run, const std::vector<OutputComparer>& outputs) {
  if (quantised_values(run.model).empty()) {
    const auto rounded = [&](const Tensor& batch) { return evaluate_rounded(run.model, {batch}, run.cancelled); };
    std::vector<double> factors = moved_by(run, outputs, {rounded});
    for (double& factor : factors)
      factor = std::clamp(OutputCheck::kRoundings * factor, 1.0, OutputCheck::kMostWidened);
    return factors;
  }
  std::vector<Otherwise> ways;
  for (const Undecided choice : {Undecided::below, Undecided::above, Undecided::other})
    ways.emplace_back(
        [&run, choice](const Tensor& batch) { return evaluate_decided(run.model, {batch}, choice, run.cancelled); });
  std::vector<double> factors = moved_by(run, outputs, ways);
  for (double& factor : factors) factor = std::max(OutputCheck::kDecisions * factor, OutputCheck::kMostWidened);
  return factors;
}

}  // namespace

LogitChecks check_logits(const Model& model, const Tensor& images, const std::vector<ModelOutput>& outputs,
                         Index classes, const LogitTruth& truth, const ProgressCallback& progress,
                         const std::function<bool()>& cancelled) {
  const auto all = static_cast<Index>(images.shape[0]);
  const Index given = truth.expected.empty() ? 0 : static_cast<Index>(truth.expected.front().shape[0]);
  const auto of_all = [&](Index some) {
    const std::string together = counted(all, "image", "images");
    if (some == all) return all == 1 ? together : "all " + together;
    return fmt::format("the first {} of {}, a sample", some, together);
  };
  std::vector<OutputComparer> comparers;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    comparers.emplace_back(outputs[i].name, probabilities_of(model, model.outputs[i]));
  Comparer expected(fmt::format("{} on {}", truth.expected_source, of_all(given)), classes, comparers);
  Comparer recomputed("the reference in fp64 on " + of_all(truth.recomputed), classes, comparers);
  const Index count = std::max(given, truth.recomputed);
  const Index step = images_at_once(model, truth.host_memory);
  const ReferenceRun run{model, images, count, step, cancelled};
  Progress task(progress, "verify", count);
  run.for_batches([&](Index first, Index some, const Tensor& batch) {
    const std::vector<Bounded> exact = evaluate(model, {batch}, cancelled);
    for (Index i = 0; i < some; ++i) {
      const Index image = first + i;
      std::vector<Compared> compared;
      std::vector<std::vector<double>> theirs;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const std::span<const float> found = numbers_of(outputs[o].values, image);
        const auto part = [&](const std::vector<double>& numbers) {
          return std::span(numbers).subspan(i * found.size(), found.size());
        };
        compared.push_back({found, part(exact[o].values), part(exact[o].bounds)});
      }
      if (image < truth.recomputed) recomputed.add(image, compared);
      if (image >= given) continue;
      for (std::size_t o = 0; o < outputs.size(); ++o) {
        const std::span<const float> numbers = numbers_of(truth.expected[o], image);
        compared[o].expected = theirs.emplace_back(numbers.begin(), numbers.end());
      }
      expected.add(image, compared);
    }
    task.update(std::min(first + step, count));
  });
  std::vector<double> widened;
  const auto check_of = [&](const Comparer& comparer) {
    LogitCheck check = Comparer(comparer).take();
    if (check.beyond == 0) return check;
    if (widened.empty()) widened = widened_by(run, comparers);
    return Comparer(comparer).take(widened);
  };
  LogitChecks checks;
  if (given > 0) checks.expected = check_of(expected);
  if (truth.recomputed > 0) checks.recomputed = check_of(recomputed);
  return checks;
}

}  // namespace spdnn
