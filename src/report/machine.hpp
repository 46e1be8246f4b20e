#pragma once

#include <string>

#include "spdnn/engine.hpp"

namespace spdnn {

/// The machine a run happened on. Device fields are empty for runs on the CPU.
struct Machine {
  std::string host;
  std::string cpu;
  std::string device;
  std::string driver;
  std::string cuda;
};

/// `device`: what the run used.
Machine this_machine(Device device = Device::cpu);

}  // namespace spdnn
