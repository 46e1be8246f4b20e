#include "inference/model/accuracy.hpp"

#include <cmath>
#include <cstddef>

namespace spdnn {

std::vector<Index> predictions_of(const Tensor& logits) {
  const auto images = static_cast<std::size_t>(logits.shape[0]);
  const std::size_t classes = logits.values.size() / images;
  std::vector<Index> predictions(images);
  for (std::size_t i = 0; i < images; ++i)
    predictions[i] = largest_of(logits.values.span().subspan(i * classes, classes));
  return predictions;
}

Accuracy accuracy_of(const Tensor& logits, const std::vector<Index>& labels) {
  constexpr std::size_t kAmong = 5;
  const std::size_t classes = logits.values.size() / labels.size();
  Accuracy accuracy;
  accuracy.images = static_cast<Index>(labels.size());
  accuracy.classes = classes > kAmong ? kAmong : 1;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::span<const float> one = logits.values.span().subspan(i * classes, classes);
    const Index label = labels[i];
    Index before = 0;  // classes with larger logits; a NaN makes the rank unknown
    for (Index k = 0; k < classes; ++k)
      before += !(one[k] < one[label]) && k != label && (one[k] != one[label] || k < label) ? 1 : 0;
    accuracy.correct += before == 0 ? 1 : 0;
    accuracy.among += before < accuracy.classes ? 1 : 0;
  }
  return accuracy;
}

double difference_of(float a, float b) {
  const double difference = std::abs(double{a} - b);
  return std::isnan(difference) ? HUGE_VAL : difference;
}

ModelDifference difference_from(const ModelReport& report, const std::string& variant, const Tensor& logits) {
  ModelDifference against{variant, 0, 0};
  for (std::size_t i = 0; i < logits.values.size(); ++i)
    against.largest_difference =
        std::max(against.largest_difference, difference_of(logits.values[i], report.logits.values[i]));
  if (report.classes > 0) {
    const std::vector<Index> predictions = predictions_of(logits);
    for (std::size_t i = 0; i < predictions.size(); ++i)
      against.differing += predictions[i] != report.predictions[i] ? 1 : 0;
  }
  return against;
}

}  // namespace spdnn
