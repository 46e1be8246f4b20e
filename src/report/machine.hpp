#pragma once

#include <string>

namespace spdnn {

/// The machine a run happened on. Device fields are empty for runs on the CPU.
struct Machine {
  std::string host;
  std::string cpu;
  std::string device;
  std::string driver;
  std::string cuda;
};

Machine this_machine();

}  // namespace spdnn
