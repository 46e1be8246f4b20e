#pragma once

#include <exception>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "io/files/atomic_file.hpp"
#include "io/files/output_form.hpp"
#include "spdnn/model_report.hpp"

namespace spdnn::cli {

/// The outputs of `infer --model`: logits, predictions, the report, the JSON line; ResultFiles does the same for
/// networks. All files are put in place together; output to stdout is written after them.
class ModelFiles {
 public:
  /// Refuses outputs that cannot be written or would overwrite an input, before any work.
  explicit ModelFiles(const po::variables_map& values);
  /// UsageError if predictions are requested but the output is not a list of classes.
  void check_against(const ModelReport& report) const;
  /// Writes logits and predictions without putting them in place. Errors are kept for finish().
  void write(const ModelReport& report);
  /// Prints the report, writes the JSON line, then throws the first error.
  void finish(const ModelReport& report);

 private:
  std::optional<std::string> logits_path_;
  std::optional<std::string> predictions_path_;
  std::optional<std::string> json_path_;
  OutputForm logits_form_ = OutputForm::npy;
  OutputForm predictions_form_ = OutputForm::npy;
  std::unique_ptr<AtomicFile> logits_;
  std::unique_ptr<AtomicFile> predictions_;
  std::exception_ptr error_;  ///< the first error
};

}  // namespace spdnn::cli
