#pragma once

namespace spdnn {

/// The exit codes, explained in docs/files.md.
enum class ExitCode : int { done = 0, wrong_results = 1, usage = 2, data = 3, device = 4, stopped = 5 };

}  // namespace spdnn
