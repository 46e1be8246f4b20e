#pragma once

#include <stdexcept>
#include <string>

namespace spdnn {

/// Base of every error that spdnn raises itself. The message is one line and says what was expected.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message) : std::runtime_error(message) {}
  /// An error about one field of a specification such as InferenceSpec: the message begins `FIELD: `.
  Error(const std::string& field, const std::string& problem)
      : std::runtime_error(field + ": " + problem), field_(field) {}
  /// The field that the message begins with; empty where it names none.
  const std::string& field() const { return field_; }

 private:
  std::string field_;
};

/// What is asked for does not exist, or does not fit together.
struct UsageError : Error {
  using Error::Error;
};

/// What is asked for needs a part that this build is without, such as CUDA.
struct Unsupported : UsageError {
  using UsageError::UsageError;
};

/// A file is missing, unreadable, malformed or does not fit its companions. Messages begin `file:line:column: `
/// (or `file: ` where no line applies).
struct DataError : Error {
  using Error::Error;
};

/// A run ended before its time, as it was asked to, and can be continued.
struct Stopped : Error {
  using Error::Error;
};

/// A run ended before its time, as its caller asked (InferenceSpec::cancelled). Nothing of it is kept.
struct Cancelled : Error {
  using Error::Error;
};

/// A device, its memory, or the host's memory, threads or descriptors do not suffice or failed.
struct DeviceError : Error {
  using Error::Error;
};

}  // namespace spdnn
