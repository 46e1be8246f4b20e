#include "inference/checkpoint/keeper.hpp"

#include <fmt/format.h>

#include <new>
#include <utility>

#include "core/text/amounts.hpp"
#include "io/files/path_kind.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

CheckpointKeeper::CheckpointKeeper(std::string path, Checkpoint begin, std::function<void(const std::string&)> warning)
    : path_(std::move(path)), begin_(std::move(begin)), warning_(std::move(warning)) {}

WrittenCheckpoint CheckpointKeeper::write(const Checkpoint& now, const ActivationParts& parts) {
  WrittenCheckpoint written = write_checkpoint(path_, now, parts);
  begin_.activations = written.activations;
  begin_.left_in_file = written.left;
  return written;
}

void CheckpointKeeper::keep(const Checkpoint& now, const ActivationParts& parts) {
  if (work_in(now.left, now.depth) >= begin_.left_in_file) return;
  try {
    const WrittenCheckpoint written = write(now, parts);
    ++begin_.costs.written;
    begin_.costs.bytes += written.bytes;
    if (!written.begun_again.empty()) fail(written.begun_again);
  } catch (const Error& error) {
    fail(error.what());
  } catch (const std::bad_alloc&) {
    fail(path_ + ": cannot write: out of host memory");
  }
}

void CheckpointKeeper::fail(const std::string& why) {
  last_failure_ = why;
  if (++failures_ == 1 && warning_) warning_(why + "; the run goes on");
}

std::string CheckpointKeeper::finish(const Checkpoint& now, const ActivationParts& parts) {
  const bool there = path_kind(path_) != PathKind::missing;
  if (there && work_in(now.left, now.depth) > begin_.left_in_file) return {};
  try {
    return write(now, parts).begun_again;
  } catch (const DataError& error) {
    throw DataError(std::string(error.what()) +
                    (there ? "; the previous checkpoint is kept" : "; the run has stopped, and its work is lost"));
  }
}

std::vector<std::string> CheckpointKeeper::notes() const {
  if (failures_ == 0) return {};
  return {fmt::format("{} could not be written: {}", counted(failures_, "checkpoint", "checkpoints"), last_failure_)};
}

}  // namespace spdnn
