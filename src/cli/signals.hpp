#pragma once

#include <functional>
#include <mutex>

namespace spdnn::cli {

/// Ctrl-C, a closed terminal and a batch system's SIGTERM end the program as usual, by the signal itself, but only
/// after the command that it runs has ended (cli/child_run.hpp) and its temporary files and directories are removed. A
/// signal that is ignored, as under nohup, stays ignored. To be called before any other thread is started.
void clean_up_on_signals();

/// From now on SIGTERM and SIGUSR1, with which schedulers warn, end nothing: what is returned says whether one has
/// come.
std::function<bool()> stop_on_signals();
/// They end the program again, unless one has come: it may be repeated, and what is left to do is little.
void end_on_signals();

/// As long as what is returned lives, and at most for two seconds, they end it later: OpenMPI's mpirun may hang for
/// ever where a rank ends while it joins the others.
std::unique_lock<std::timed_mutex> hold_signals();

}  // namespace spdnn::cli
