#include "inference/prune/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "core/threads/parallel.hpp"
#include "inference/model/load.hpp"
#include "inference/model/run.hpp"
#include "inference/prune/measure.hpp"
#include "inference/prune/node_seconds.hpp"
#include "inference/prune/search.hpp"
#include "inference/prune/shares_file.hpp"
#include "io/arrays/labels.hpp"
#include "model/graph/node_work.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"

namespace spdnn {

namespace {

constexpr Index kUsualCalibration = 512;
constexpr Index kTrialImages = 64;  ///< that measure the loss of a layer alone, which only puts steps in order

bool has_images(const ModelInputs& inputs) { return !inputs.path.empty() || !inputs.pictures.empty(); }

void check_prune(const PruneSpec& spec) {
  const bool fixed = spec.settings.structure.kind == Structure::Kind::n_of_m;
  if (fixed && (spec.share || !spec.shares.empty()))
    throw UsageError("sparsity", fmt::format("the pattern {} fixes it", to_string(spec.settings.structure)));
  const int given = (spec.share ? 1 : 0) + (spec.shares.empty() ? 0 : 1) + (spec.min_accuracy ? 1 : 0);
  if (given > 1 || (given == 0 && !fixed))
    throw UsageError("expected one of --sparsity S, --per-layer FILE, --min-accuracy A and --pattern N:M");
  if (spec.min_accuracy && !(*spec.min_accuracy > 0 && *spec.min_accuracy <= 1))
    throw UsageError("min_accuracy", fmt::format("{}, expected more than 0 and at most 1", *spec.min_accuracy));
  if (has_images(spec.inputs)) return;
  if (spec.min_accuracy) throw UsageError("min_accuracy", "needs --inputs");
  if (spec.settings.by_activations) throw UsageError("score", "activations needs --inputs");
  if (spec.settings.repair_weights || spec.settings.repair_norms) throw UsageError("repair", "needs --inputs");
  if (!spec.labels.empty()) throw UsageError("labels", "needs --inputs");
  if (spec.calibrate != 0) throw UsageError("calibrate", "needs --inputs");
}

/// The images of a specification, and where they are divided.
struct PruneImages {
  Tensor all{};
  std::vector<Index> labels{};  ///< of all
  Index calibrated = 0;
  std::vector<std::string> notes{};
};

PruneImages read_prune_images(const PruneSpec& spec, const Model& model) {
  PruneImages images;
  if (!has_images(spec.inputs)) return images;
  LoadedImages loaded = load_model_images(spec.inputs, model);
  images.all = std::move(loaded.images);
  images.notes = std::move(loaded.notes);
  const auto count = static_cast<Index>(images.all.shape[0]);
  if (spec.calibrate > count) throw UsageError("calibrate", fmt::format("{} of {} images", spec.calibrate, count));
  images.calibrated = spec.calibrate != 0 ? spec.calibrate : std::clamp<Index>(count / 2, 1, kUsualCalibration);
  if (const auto fixed = fixed_batch(model)) {  // both parts are whole batches
    if (count % *fixed != 0)
      throw UsageError(
          "shape", fmt::format("the model takes {} images at a time, and {} is not a multiple of that", *fixed, count));
    images.calibrated = (images.calibrated + *fixed - 1) / *fixed * *fixed;
  }
  if (spec.labels.empty()) return images;
  const Index classes = classes_of(model);
  if (classes == 0) throw UsageError("labels", "the model's output is not a list of classes");
  images.labels = read_labels(spec.labels, spec.inputs.images ? loaded.available : count, classes, &images.notes);
  images.labels.resize(count);
  return images;
}

/// Of the images after the calibration's, if there are any.
Measurer measurer_of(const PruneSpec& spec, const Model& model, PruneImages& images) {
  const auto count = static_cast<Index>(images.all.shape[0]);
  const Index first = images.calibrated < count ? images.calibrated : 0;
  if (first == 0) images.notes.emplace_back("measured on the images of the calibration, as there are no others");
  const std::vector<Index> labels(images.labels.begin() + (images.labels.empty() ? 0 : first), images.labels.end());
  return {model, images_from(images.all, first, count - first), first, labels, spec.settings};
}

std::string method_text(const PruneSettings& settings, const std::optional<WantedShare>& share) {
  return fmt::format("pattern {}, scores by {}{}, repair of {}", to_string(settings.structure),
                     settings.by_activations ? "activations" : "magnitude",
                     share && share->global ? " over all layers" : " in each layer",
                     settings.repair_weights && settings.repair_norms ? "weights and norms"
                     : settings.repair_weights                        ? "weights"
                     : settings.repair_norms                          ? "norms"
                                                                      : "nothing");
}

/// `trials` is empty, or has those of each node.
void fill_layers(const Model& before, const PrunedModel& after, const Shares& shares, const EngineSettings& settings,
                 const Sensitivity& trials, PruneReport& report) {
  const std::vector<NodeWork> work = work_of(before);
  const std::vector<NodeWork> work_after = work_of(after.model);
  const std::vector<double> seconds = predicted_seconds(before, settings);
  const std::vector<double> seconds_after = predicted_seconds(after.model, settings);
  const MeasuredSeconds measured = measured_seconds(before, after.model, settings);
  const auto at = [](const std::vector<double>& times, std::size_t n) { return times.empty() ? 0 : times[n]; };
  auto pruned = after.nodes.begin();
  for (std::size_t n = 0; n < work.size(); ++n) {
    if (work[n].rows == 0) continue;
    report.layers.push_back({.node = n,
                             .name = before.nodes[n].name,
                             .operation = std::string(operation_name(before.nodes[n].operation)),
                             .left = !shares[n],
                             .weights = work[n].weights,
                             .nonzeros_before = work[n].nonzeros,
                             .nonzeros_after = work_after[n].nonzeros,
                             .seconds_before = seconds[n],
                             .seconds_after = seconds_after[n],
                             .measured_before = at(measured.before, n),
                             .measured_after = at(measured.after, n),
                             .error_before = {},
                             .error_after = {},
                             .trials = trials.empty() ? std::vector<PruneTrial>() : trials[n]});
    if (pruned == after.nodes.end() || pruned->node != n) continue;
    report.layers.back().error_before = pruned->error_before;
    report.layers.back().error_after = pruned->error_after;
    ++pruned;
  }
  report.seconds_before = std::accumulate(seconds.begin(), seconds.end(), 0.0);
  report.seconds_after = std::accumulate(seconds_after.begin(), seconds_after.end(), 0.0);
  report.timed_runs = measured.runs;
  report.measured_before = std::accumulate(measured.before.begin(), measured.before.end(), 0.0);
  report.measured_after = std::accumulate(measured.after.begin(), measured.after.end(), 0.0);
}

struct SharesFound {
  Shares shares;
  Sensitivity trials{};
  std::vector<std::string> notes{};
};

/// The search. The measurer is that of the images after the calibration.
SharesFound search_shares(const Pruner& pruner, const Measurer& measurer, const Tensor& calibration, double least,
                          const EngineSettings& predicted) {
  if (!measurer.has_score()) throw UsageError("min_accuracy", "needs an output that is a list of classes");
  require_score(pruner, measurer, least);
  SharesFound found;
  const Index each = fixed_batch(pruner.dense()).value_or(1);
  const Index some = std::min(static_cast<Index>(calibration.shape[0]), (kTrialImages + each - 1) / each * each);
  const Measurer trials(pruner.dense(), images_from(calibration, 0, some), 0, {}, pruner.settings());
  found.trials = sensitivity_of(pruner, trials, predicted);
  const std::vector<PruneMove> moves = moves_by_gain(found.trials, predicted_seconds(pruner.dense(), predicted));
  std::size_t made = 0;
  found.shares = most_moves(pruner, measurer, moves, least, made);
  found.notes.push_back(fmt::format("{} of {} steps that save time keep {} at {} or above, on the measured images",
                                    made, moves.size(), measurer.has_labels() ? "the accuracy" : "the agreement",
                                    least));
  return found;
}

SharesFound shares_for(const PruneSpec& spec, const Pruner& pruner, const std::optional<Measurer>& measurer,
                       const Tensor& calibration, const EngineSettings& predicted) {
  if (spec.min_accuracy) return search_shares(pruner, *measurer, calibration, *spec.min_accuracy, predicted);
  if (!spec.shares.empty()) return {read_shares(spec.shares, pruner.dense())};
  return {pruner.shares_of(spec.share.value_or(WantedShare{}))};
}

}  // namespace

PruneResult prune(const PruneSpec& spec) {
  check_prune(spec);
  require_threads(spec.settings.threads);
  const Model model = read_model(spec.model, spec.shape);
  PruneImages images = read_prune_images(spec, model);
  const Tensor calibration = images.calibrated == 0 ? Tensor() : images_from(images.all, 0, images.calibrated);
  const Pruner pruner(model, spec.settings, calibration);
  std::optional<Measurer> measurer;
  if (images.calibrated > 0) measurer.emplace(measurer_of(spec, model, images));
  PruneReport report{.model = spec.model,
                     .out = spec.out,
                     .method = method_text(spec.settings, spec.share),
                     .calibrated = images.calibrated,
                     .batch = fixed_batch(model).value_or(spec.batch),
                     .threads = host_threads(spec.settings.threads)};
  EngineSettings predicted = spec.settings;
  predicted.batch = report.batch;
  const SharesFound found = shares_for(spec, pruner, measurer, calibration, predicted);
  PrunedModel pruned = pruner.pruned(found.shares);
  if (pruned.nodes.empty() && !spec.min_accuracy) throw DataError(spec.model + ": no node has weights to prune");
  fill_layers(model, pruned, found.shares, predicted, found.trials, report);
  if (measurer) report.measure = measurer->measured(pruned.model);
  report.notes = std::move(images.notes);
  report.notes.insert(report.notes.end(), found.notes.begin(), found.notes.end());
  report.notes.insert(report.notes.end(), pruned.notes.begin(), pruned.notes.end());
  return {std::move(pruned.model), std::move(report)};
}

}  // namespace spdnn
