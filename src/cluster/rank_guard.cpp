#include "cluster/rank_guard.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>
#include <ctime>

#include "cluster/launch.hpp"
#include "cluster/launcher_end.hpp"
#include "cluster/rank_name.hpp"
#include "core/text/message.hpp"

namespace spdnn {

namespace {

/// The signals by which launchers, schedulers and people end or warn a process, usually with its whole group.
constexpr std::array kPassedOn{SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};

volatile pid_t child = 0;

void pass_on(int signal) { ::kill(child, signal); }

[[noreturn]] void end_like(int signal) {
  std::signal(signal, SIG_DFL);
  ::raise(signal);
  ::_exit(128 + signal);
}

/// If the launcher has ended, this process ends too, and with it the child: joined ranks would then end anyway, but a
/// rank that is still joining might not.
int status_of_child(const sigset_t& child_ended, pid_t launcher, int failed) {
  constexpr timespec kLook{1, 0};
  int status = 0;
  while (::waitpid(child, &status, WNOHANG) == 0) {
    if (::getppid() != launcher) {
      print_error(rank_name(), {"the launcher has ended"});
      ::_exit(failed);
    }
    ::sigtimedwait(&child_ended, nullptr, &kLook);
  }
  return status;
}

[[noreturn]] void end_like_child(int status, int failed) {
  if (WIFEXITED(status)) ::_exit(WEXITSTATUS(status));
  const int signal = WTERMSIG(status);
  for (const int known : kPassedOn)
    if (signal == known) end_like(signal);
  print_error(rank_name(), {"ended by signal: ", ::strsignal(signal),
                            signal == SIGKILL ? " (for lack of memory, or by a user)" : ""});
  ask_launcher_to_end(failed);
  ::_exit(failed);
}

}  // namespace

void guard_rank(int failed) {
  if (!this_launch().maybe_several()) return;
  const pid_t launcher = ::getppid();
  const pid_t parent = ::getpid();
  std::signal(SIGCHLD, SIG_DFL);
  sigset_t child_ended;
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&child_ended);
  sigaddset(&child_ended, SIGCHLD);
  blocked = child_ended;
  for (const int signal : kPassedOn) sigaddset(&blocked, signal);
  ::sigprocmask(SIG_BLOCK, &blocked, &before);
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
  if (child > 0) {
    ::sigprocmask(SIG_BLOCK, &child_ended, nullptr);
    end_like_child(status_of_child(child_ended, launcher, failed), failed);
  }
  // The child continues, and so does the process itself if the system refuses a child.
}

}  // namespace spdnn
