#pragma once

#include <vector>

#include "report/prune_report.hpp"
#include "spdnn/model.hpp"
#include "spdnn/run_settings.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

/// Compares models with the dense one, on the same images.
class Measurer {
 public:
  /// `first` is the number of the first of the images; `labels` has one for each, or is empty.
  Measurer(const Model& dense, Tensor images, Index first, std::vector<Index> labels, const EngineSettings& settings);
  PruneMeasure measured(const Model& model) const;
  bool has_labels() const { return !labels_.empty(); }
  /// Whether a measure has an accuracy or an agreement.
  bool has_score() const { return has_classes_; }

 private:
  Tensor images_;
  Index first_;
  std::vector<Index> labels_;
  EngineSettings settings_;
  bool has_classes_;
  Tensor dense_outputs_;
};

}  // namespace spdnn
