#include "cluster/launcher_end.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace spdnn {

void ask_launcher_to_end(int code) noexcept {
  const char* const wire = std::getenv("PMI_FD");
  if (wire == nullptr || std::getenv("HYDI_CONTROL_FD") == nullptr) return;
  ::usleep(200'000);  // the launcher drops the part of the message that it has not forwarded by then
  if (::dprintf(std::atoi(wire), "cmd=abort exitcode=%d\n", code) < 0) return;
  ::sleep(2);
}

}  // namespace spdnn
