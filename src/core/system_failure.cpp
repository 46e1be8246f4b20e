#include "core/system_failure.hpp"

#include <cerrno>
#include <system_error>

namespace spdnn {

ExitCode exit_code_of(int error) {
  const bool exhausted = error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE;
  return exhausted ? ExitCode::device : ExitCode::data;
}

void throw_system_failure(const std::filesystem::path& path, const std::string& what, int error) {
  const std::string message = path.string() + ": " + what + ": " + std::generic_category().message(error);
  if (exit_code_of(error) == ExitCode::device) throw DeviceError(message);
  throw DataError(message);
}

}  // namespace spdnn
