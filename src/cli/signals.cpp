#include "cli/signals.hpp"

#include <pthread.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>

#include "bench/child_run.hpp"
#include "io/files/temporaries.hpp"

namespace spdnn::cli {

namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP, SIGUSR1};

std::atomic<bool> warnings_stop = false;
std::atomic<bool> warned = false;
std::timed_mutex held;

bool is_default(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_DFL;
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kSignals)
    if (is_default(signal)) sigaddset(&set, signal);
  return set;
}

/// Runs on a thread of its own, because a signal handler may not call the functions that remove files.
void* wait_for_signal(void* /*unused*/) {
  const sigset_t set = handled_signals();
  int signal = 0;
  for (;;) {
    if (sigwait(&set, &signal) != 0) continue;
    if (!warnings_stop || (signal != SIGTERM && signal != SIGUSR1)) break;
    warned = true;
  }
  constexpr std::chrono::seconds kLongest{2};
  static_cast<void>(held.try_lock_for(kLongest));
  bench::end_running_command();
  end_temporaries();
  std::signal(signal, SIG_DFL);  // MPICH may have installed its own handler for SIGUSR1
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  ::kill(::getpid(), signal);
  for (;;) ::pause();
}

}  // namespace

std::function<bool()> stop_on_signals() {
  warnings_stop = true;
  return [] { return warned.load(); };
}

void end_on_signals() {
  if (!warned) warnings_stop = false;
}

std::unique_lock<std::timed_mutex> hold_signals() { return std::unique_lock(held); }

void clean_up_on_signals() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  constexpr std::size_t kStack = std::size_t{256} << 10U;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_t thread{};
  // Without the thread, signals end the program immediately; the next run removes its temporaries.
  if (pthread_create(&thread, &attributes, wait_for_signal, nullptr) != 0) pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  pthread_attr_destroy(&attributes);
}

}  // namespace spdnn::cli
