#include "inference/prune/measure.hpp"

#include <cmath>
#include <utility>

#include "inference/model/accuracy.hpp"
#include "inference/model/load.hpp"
#include "inference/prune/value_run.hpp"

namespace spdnn {

namespace {

double relative_distance(const Tensor& found, const Tensor& expected) {
  double off = 0;
  double all = 0;
  for (std::size_t i = 0; i < found.values.size(); ++i) {
    off += (double{found.values[i]} - expected.values[i]) * (double{found.values[i]} - expected.values[i]);
    all += double{expected.values[i]} * expected.values[i];
  }
  return all == 0 ? 0 : std::sqrt(off / all);
}

double agreement_of(const Tensor& found, const Tensor& expected) {
  const std::vector<Index> classes = predictions_of(found);
  const std::vector<Index> wanted = predictions_of(expected);
  std::size_t equal = 0;
  for (std::size_t i = 0; i < classes.size(); ++i) equal += classes[i] == wanted[i] ? 1 : 0;
  return static_cast<double>(equal) / static_cast<double>(classes.size());
}

}  // namespace

Measurer::Measurer(const Model& dense, Tensor images, Index first, std::vector<Index> labels,
                   const EngineSettings& settings)
    : images_(std::move(images)),
      first_(first),
      labels_(std::move(labels)),
      settings_(settings),
      has_classes_(classes_of(dense) > 0),
      dense_outputs_(logits_of(dense, images_, settings)) {}

PruneMeasure Measurer::measured(const Model& model) const {
  const Tensor outputs = logits_of(model, images_, settings_);
  PruneMeasure measure{.first = first_, .images = static_cast<Index>(images_.shape[0])};
  if (!labels_.empty()) {
    measure.accuracy_before = accuracy_of(dense_outputs_, labels_).top_1();
    measure.accuracy_after = accuracy_of(outputs, labels_).top_1();
  }
  if (has_classes_) measure.agreement = agreement_of(outputs, dense_outputs_);
  measure.distance = relative_distance(outputs, dense_outputs_);
  return measure;
}

}  // namespace spdnn
