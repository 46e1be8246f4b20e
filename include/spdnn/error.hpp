#pragma once

#include <stdexcept>
#include <string>

namespace spdnn {

/// Base of all errors that spdnn throws. The message is one line and names the expected value or state.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// An error about one field of a specification such as InferenceSpec: the message begins `FIELD: `.
  Error(const std::string& field, const std::string& problem)
      : std::runtime_error(field + ": " + problem), field_(field) {}
  /// The field at the start of the message; empty without one.
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

/// A request names something unknown, or contradicts itself.
struct UsageError : Error {
  using Error::Error;
};

/// A request needs a part that this build lacks, such as CUDA.
struct Unsupported : UsageError {
  using UsageError::UsageError;
};

/// A file is missing, unreadable, malformed or does not fit its companions. Messages begin `file:line:column: `
/// (or `file: ` where no line applies).
struct DataError : Error {
  using Error::Error;
};

/// A run was stopped on request, and can be continued.
struct Stopped : Error {
  using Error::Error;
};

/// A run was cancelled by its caller (RunSettings::cancelled). Its results are lost.
struct Cancelled : Error {
  using Error::Error;
};

/// A device failed or is missing, or memory, threads or descriptors ran out.
struct DeviceError : Error {
  using Error::Error;
};

}  // namespace spdnn
