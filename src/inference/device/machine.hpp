#pragma once

#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/run_record.hpp"

namespace spdnn {

/// The machine that this process runs on, and the device that variants of `device` use.
Machine this_machine(Device device);

/// Notes why there are fewer threads than processors, if a control group limits them and `asked` gives no number.
void note_on_threads(int asked, std::vector<std::string>& notes);

}  // namespace spdnn
