#include "cluster/rank_guard.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "cluster/launch.hpp"
#include "cluster/launcher_end.hpp"
#include "cluster/rank_name.hpp"
#include "core/message.hpp"

namespace spdnn {

namespace {

/// Those by which launchers, schedulers and people end or warn a process. They reach the whole group as a rule.
constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile pid_t child = 0;

void pass_on(int signal) { ::kill(child, signal); }

[[noreturn]] void end_like(int signal) {
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  ::_exit(128 + signal);
}

[[noreturn]] void wait_for_child(int failed) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  for (const int known : kPassedOn)
    if (signal == known) end_like(signal);
  print_message({rank_name(), "ended by signal: ", ::strsignal(signal),
                 signal == SIGKILL ? " (out of memory, or by somebody's hand)" : ""});
  ask_launcher_to_end(failed);
  ::_exit(failed);
}

}  // namespace

void guard_rank(int failed) {
  if (!this_launch().maybe_several()) return;
  const pid_t parent = ::getpid();
  sigset_t passed_on;
  sigset_t before;
  sigemptyset(&passed_on);
  for (const int signal : kPassedOn) sigaddset(&passed_on, signal);
  ::sigprocmask(SIG_BLOCK, &passed_on, &before);
  child = ::fork();
  if (child > 0) {
    struct sigaction action {};
    action.sa_handler = pass_on;
    for (const int signal : kPassedOn) ::sigaction(signal, &action, nullptr);
  } else if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(failed);
  }
  ::sigprocmask(SIG_SETMASK, &before, nullptr);
  if (child > 0) wait_for_child(failed);
  // A child goes on, and so does a process that the system gives no child.
}

}  // namespace spdnn
