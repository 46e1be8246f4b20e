#pragma once

#include <functional>
#include <string>
#include <vector>

#include "inference/checkpoint/checkpoint.hpp"

namespace spdnn {

/// Writes the checkpoints of a run, on the root.
class CheckpointKeeper {
 public:
  /// `begin` is the checkpoint that the run continues, or one without results; `warning` may be empty.
  CheckpointKeeper(std::string path, Checkpoint begin, std::function<void(const std::string&)> warning);

  /// The record of earlier parts, and of the checkpoint now in the file.
  const Checkpoint& begin() const { return begin_; }

  /// Called during the run. The file stays unchanged if the new checkpoint leaves as much work, or, with a warning, if
  /// it cannot be written.
  void keep(const Checkpoint& now, const ActivationParts& parts);
  /// Called at the end of the run. Returns the reason if images must start over. DataError if the checkpoint cannot be
  /// written; it names the state that is kept.
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
