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

/// What `infer --model` leaves behind: logits, predictions, the report, the JSON line; see ResultFiles, which does the
/// same for networks. All files are put in place together; what goes to stdout is written after them.
class ModelFiles {
 public:
  /// Refuses at once what cannot be written and what would overwrite an input.
  explicit ModelFiles(const po::variables_map& values);
  /// UsageError where predictions are asked for and there are no classes.
  void check_against(const ModelReport& report) const;
  /// Writes logits and predictions, not yet in place. What goes wrong is kept for finish().
  void write(const ModelReport& report);
  /// Prints the report, writes the JSON line, then throws what has gone wrong.
  void finish(const ModelReport& report);

 private:
  std::optional<std::string> logits_path_;
  std::optional<std::string> predictions_path_;
  std::optional<std::string> json_path_;
  OutputForm logits_form_ = OutputForm::npy;
  OutputForm predictions_form_ = OutputForm::npy;
  std::unique_ptr<AtomicFile> logits_;
  std::unique_ptr<AtomicFile> predictions_;
  std::exception_ptr error_;  ///< the first
};

}  // namespace spdnn::cli
