#include "inference/model_accuracy.hpp"

#include <cstddef>
#include <span>

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
    Index before = 0;  // classes of larger logits; where a logit is no number, nothing is known
    for (Index k = 0; k < classes; ++k)
      before += !(one[k] < one[label]) && k != label && (one[k] != one[label] || k < label) ? 1 : 0;
    accuracy.correct += before == 0 ? 1 : 0;
    accuracy.among += before < accuracy.classes ? 1 : 0;
  }
  return accuracy;
}

}  // namespace spdnn
