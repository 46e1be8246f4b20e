#include "core/system/run_apart.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <mutex>
#include <span>
#include <string>

#include "core/system/descriptor.hpp"
#include "spdnn/error.hpp"

namespace spdnn {

namespace {

constexpr std::byte kReturned{1};  // the first byte that the child sends: what follows is the result,
constexpr std::byte kThrew{2};     // or a message

void send(int to, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::write(to, bytes.data(), bytes.size());
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) ::_exit(1);
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

[[noreturn]] void run_child(const std::function<std::vector<std::byte>()>& work, int to, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGABRT, SIGSEGV}) std::signal(signal, SIG_DFL);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  try {
    const std::vector<std::byte> result = work();
    send(to, std::span(&kReturned, 1));
    send(to, result);
  } catch (const std::exception& error) {
    const std::string message = error.what();
    send(to, std::span(&kThrew, 1));
    send(to, std::as_bytes(std::span(message)));
  }
  ::_exit(0);
}

/// Ends the child if it has not ended, and waits for it.
class Child {
 public:
  explicit Child(pid_t id) : id_(id) {}
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child() {
    if (id_ <= 0) return;
    ::kill(id_, SIGKILL);
    wait();
  }

  /// Its status.
  int wait() {
    int status = 0;
    while (::waitpid(id_, &status, 0) < 0 && errno == EINTR) continue;
    id_ = 0;
    return status;
  }

 private:
  pid_t id_;
};

/// All that the child sends until it ends.
std::vector<std::byte> received(int from, const std::function<bool()>& cancelled) {
  constexpr int kMilliseconds = 50;
  std::vector<std::byte> all;
  std::vector<std::byte> some(std::size_t{1} << 16U);
  while (true) {
    if (cancelled()) throw DeviceError("a child process was cancelled");
    pollfd ready{from, POLLIN, 0};
    if (::poll(&ready, 1, kMilliseconds) <= 0) continue;
    const ssize_t count = ::read(from, some.data(), some.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return all;
    all.insert(all.end(), some.begin(), some.begin() + count);
  }
}

}  // namespace

std::vector<std::byte> run_apart(const std::function<std::vector<std::byte>()>& work,
                                 const std::function<bool()>& cancelled) {
  // Of one child at a time, so that none inherits the end that another one writes to.
  static std::mutex mutex;
  std::unique_lock lock(mutex);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw DeviceError(fmt::format("no pipe can be made: {}", std::strerror(errno)));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t id = ::fork();
  if (id < 0) throw DeviceError(fmt::format("no child process can be started: {}", std::strerror(errno)));
  if (id == 0) run_child(work, to.get(), parent);
  Child child(id);
  to = Descriptor();
  lock.unlock();
  std::vector<std::byte> all = received(from.get(), cancelled);
  const int status = child.wait();
  if (WIFSIGNALED(status))
    throw DeviceError(
        fmt::format("a child process was ended by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status))));
  if (WEXITSTATUS(status) != 0 || all.empty()) throw DeviceError("a child process ended without a result");
  const std::byte kind = all.front();
  all.erase(all.begin());
  if (kind == kThrew) throw DeviceError(std::string(reinterpret_cast<const char*>(all.data()), all.size()));
  return all;
}

}  // namespace spdnn
