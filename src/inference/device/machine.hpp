#pragma once

#include <string>
#include <vector>

#include "spdnn/outcome.hpp"
#include "spdnn/run_record.hpp"

namespace spdnn {

/// The machine that this process runs on, and the device that variants of `device` use.
Machine this_machine(Device device);

/// Notes why fewer threads than processors work, where a control group decides that and no number is `asked` for.
void note_on_threads(int asked, std::vector<std::string>& notes);

}  // namespace spdnn
