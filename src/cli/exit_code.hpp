#pragma once

namespace spdnn::cli {

/// How the program ends; docs/files.md says what each code stands for.
enum class ExitCode : int { done = 0, wrong_results = 1, usage = 2, data = 3, device = 4, stopped = 5 };

}  // namespace spdnn::cli
