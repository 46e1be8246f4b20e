#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inference/checkpoint/checkpoint.hpp"

namespace spdnn {

/// Writes the checkpoints of a run, on the root.
class CheckpointKeeper {
 public:
  /// `begin` is what the run continues, or a checkpoint at which nothing is done; `warning` may be empty.
  CheckpointKeeper(std::string path, Checkpoint begin, std::function<void(const std::string&)> warning);

  /// The record of earlier parts, and of the checkpoint now in the file.
  const Checkpoint& begin() const { return begin_; }

  /// While the run goes on. Where no less is left to do than in the file, the file stays as it is. Where the checkpoint
  /// cannot be written, it does so too, with a warning.
  void keep(const Checkpoint& now, const ActivationParts& parts);
  /// At its end. Returns why images are to be begun again, if they are. DataError where the checkpoint cannot be
  /// written; it says what is kept.
  std::string finish(const Checkpoint& now, const ActivationParts& parts);

  /// For the report.
  CheckpointSummary costs() const { return begin_.costs; }
  std::vector<std::string> notes() const;

 private:
  WrittenCheckpoint write(const Checkpoint& now, const ActivationParts& parts);
  void fail(const std::string& why);

  std::string path_;
  Checkpoint begin_;
  std::function<void(const std::string&)> warning_;
  int failures_ = 0;
  std::string last_failure_;
};

}  // namespace spdnn
