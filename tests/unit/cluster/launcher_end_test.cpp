#include "cluster/launcher_end.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string>

namespace spdnn {
namespace {

/// Under MPICH's launcher both variables are set; tests/mpi has that case.
TEST(LauncherEnd, OtherLaunchersAreNotAsked) {
  std::array<int, 2> wire{};
  ASSERT_EQ(::pipe(wire.data()), 0);
  const std::string number = std::to_string(wire[1]);
  for (const auto& [name, value] : {std::pair{"PMI_FD", number.c_str()}, std::pair{"HYDI_CONTROL_FD", "9"}}) {
    ASSERT_EQ(::unsetenv("PMI_FD") | ::unsetenv("HYDI_CONTROL_FD") | ::setenv(name, value, 1), 0);
    ask_launcher_to_end(3);
    ::unsetenv(name);
    pollfd asked{wire[0], POLLIN, 0};
    EXPECT_EQ(::poll(&asked, 1, 0), 0) << name;
  }
  for (const int end : wire) ::close(end);
}

}  // namespace
}  // namespace spdnn
