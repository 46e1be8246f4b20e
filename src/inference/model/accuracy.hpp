#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "spdnn/model_report.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// The class of the largest of an image's logits; of equal ones the first.
template <class T>
Index largest_of(std::span<const T> logits) {
  return static_cast<Index>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// The class of the largest logit of each image; of equal ones the first.
std::vector<Index> predictions_of(const Tensor& logits);

/// How often the largest logit is the label's, and among the k largest. Of equal logits those of lower classes count as
/// larger.
Accuracy accuracy_of(const Tensor& logits, const std::vector<Index>& labels);

/// The largest |a - b| of as many numbers, infinite if one of them is NaN.
double largest_difference(std::span<const float> a, std::span<const float> b);

/// The difference of the report's outputs and predictions from `outputs`, those of another run by `variant`.
ModelDifference difference_from(const ModelReport& report, const std::string& variant,
                                const std::vector<Tensor>& outputs);

}  // namespace spdnn
