#pragma once

#include "spdnn/progress.hpp"

namespace spdnn::cli {

/// Shows progress in one line on stderr that fills while long work goes on, and is wiped at its end: after half a
/// second of work, and at most ten times a second. Empty where stderr is no terminal.
ProgressCallback progress_bar();

}  // namespace spdnn::cli
