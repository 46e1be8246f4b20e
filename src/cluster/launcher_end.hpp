#pragma once

namespace spdnn {

/// Asks MPICH's launcher, by PMI-1, to end the job with this exit code, and waits for it to end this process, too: it
/// takes the code of a rank that merely ends for one among others, and a rank that ends before it has joined for one
/// that is still to come. Returns after two seconds where the launcher does not do so, and immediately under other
/// launchers, which take the end of the first rank that fails for that of the job.
void ask_launcher_to_end(int code) noexcept;

}  // namespace spdnn
