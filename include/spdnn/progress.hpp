#pragma once

namespace spdnn {

/// Whether long work shows how far it is: one line on stderr, where that is a terminal, or nothing.
enum class ProgressMode { automatic, never };

}  // namespace spdnn
