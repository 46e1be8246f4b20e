#include "cluster/launcher_end.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace spdnn {

void ask_launcher_to_end(int code) noexcept {
  const char* const wire = std::getenv("PMI_FD");
  if (wire == nullptr || std::getenv("HYDI_CONTROL_FD") == nullptr) return;
  ::usleep(200'000);  // what the launcher has not passed on of the message by then, it drops
  if (::dprintf(std::atoi(wire), "cmd=abort exitcode=%d\n", code) < 0) return;
  ::sleep(2);
}

}  // namespace spdnn
