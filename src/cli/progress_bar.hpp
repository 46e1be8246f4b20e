#pragma once

#include "spdnn/progress.hpp"

namespace spdnn::cli {

/// Shows progress in one line on stderr, which is erased when the work is done: after half a second of work, and at
/// most ten times a second. Empty if stderr is not a terminal.
ProgressCallback progress_bar();

}  // namespace spdnn::cli
