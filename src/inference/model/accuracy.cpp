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

double largest_difference(std::span<const float> a, std::span<const float> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - b[i]);
    largest = std::max(largest, std::isnan(difference) ? HUGE_VAL : difference);
  }
  return largest;
}

ModelDifference difference_from(const ModelReport& report, const std::string& variant,
                                const std::vector<Tensor>& outputs) {
  ModelDifference against{variant, 0, 0};
  for (std::size_t output = 0; output < outputs.size(); ++output)
    against.largest_difference =
        std::max(against.largest_difference,
                 largest_difference(outputs[output].values.span(), report.outputs[output].values.values.span()));
  if (report.classes > 0) {
    const std::vector<Index> predictions = predictions_of(outputs.front());
    for (std::size_t i = 0; i < predictions.size(); ++i)
      against.differing += predictions[i] != report.predictions[i] ? 1 : 0;
  }
  return against;
}

}  // namespace spdnn
