#pragma once

namespace spdnn {

/// In a process that a launcher has started as one of several ranks: continues in a child, while this process waits for
/// the child and ends as it did. If a signal kills the child, as when memory runs out, one line names rank, host and
/// signal, and the process ends with exit code `failed`, which ends the job. Signals that reach the parent alone are
/// passed on. Where the launcher ends, both processes do so within a second. Elsewhere it returns at once. To be called
/// from main before there are threads. The price is a process that sleeps, but for a look once a second.
void guard_rank(int failed);

}  // namespace spdnn
