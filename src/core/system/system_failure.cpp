#include "core/system/system_failure.hpp"

#include <cerrno>
#include <system_error>

namespace spdnn {

bool is_exhaustion(int error) { return error == ENOMEM || error == EAGAIN || error == EMFILE || error == ENFILE; }

void throw_system_failure(const std::filesystem::path& path, const std::string& what, int error) {
  const std::string message = path.string() + ": " + what + ": " + std::generic_category().message(error);
  if (is_exhaustion(error)) throw DeviceError(message);
  throw DataError(message);
}

}  // namespace spdnn
