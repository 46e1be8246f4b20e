#pragma once

#include <stdexcept>
#include <string>

namespace spdnn {

/// The program's exit codes; one exception type for each way to fail.
enum class ExitCode : int { done = 0, wrong_categories = 1, usage = 2, data = 3, device = 4 };

/// Base of every error that spdnn raises itself. The message is one line and says what was expected.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

/// The command line asks for something that does not exist or does not fit together.
struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ExitCode::usage, message) {}
};

/// A file is missing, unreadable, malformed or does not fit its companions. Messages begin `file:line:column: `
/// (or `file: ` where no line applies).
struct DataError : Error {
  explicit DataError(const std::string& message) : Error(ExitCode::data, message) {}
};

/// A device, its memory, the host's memory or MPI failed.
struct DeviceError : Error {
  explicit DeviceError(const std::string& message) : Error(ExitCode::device, message) {}
};

}  // namespace spdnn
