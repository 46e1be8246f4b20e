#pragma once

#include <vector>

#include "cli/result_files.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn::cli {

/// The outputs of a model's run: logits, predictions.
class ModelFiles {
 public:
  explicit ModelFiles(const po::variables_map& values);
  /// UsageError if predictions are requested but the output is not a list of classes.
  void check_against(const ModelReport& report) const;
  void write(const ModelReport& report) { files_.write(writers(report)); }
  void finish(const ModelReport& report) {
    files_.finish(
        to_text(report), [&] { return to_json(report); }, writers(report));
  }

 private:
  std::vector<RunFiles::Write> writers(const ModelReport& report) const;

  OutputForm logits_form_;
  OutputForm predictions_form_;
  bool wants_predictions_;
  RunFiles files_;
};

}  // namespace spdnn::cli
