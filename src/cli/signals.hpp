#pragma once

#include <functional>
#include <mutex>

namespace spdnn::cli {

/// Ctrl-C, a closed terminal and a batch system's SIGTERM end the program as usual, by the signal itself, but only
/// after its child command has ended (bench/child_run.hpp) and its temporary files and directories are removed. Ignored
/// signals, as under nohup, stay ignored. Call this before any other thread is started.
void clean_up_on_signals();

/// From now on SIGTERM and SIGUSR1, the warnings of schedulers, do not end the program: the returned function reports
/// whether one has arrived.
std::function<bool()> stop_on_signals();
/// Lets these signals end the program again, unless one has arrived: it may be repeated, and little work is left.
void end_on_signals();

/// While the returned lock is held, for at most two seconds, these signals are deferred: OpenMPI's mpirun may hang
/// forever if a rank ends while it joins the others.
std::unique_lock<std::timed_mutex> hold_signals();

}  // namespace spdnn::cli
