#include "bench/child_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <mutex>
#include <sstream>
#include <string_view>
#include <thread>

#include "core/system/descriptor.hpp"
#include "core/text/json_text.hpp"
#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn::bench {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::seconds kGrace{5};

/// The running command, shared by the threads that may end it.
class Running {
 public:
  CommandEnd run(const std::vector<std::string>& words, const CommandOptions& options) {
    begin(words, options.messages);
    CommandEnd end;
    std::jthread watchdog;
    if (options.limit_seconds)
      watchdog =
          std::jthread([&] { end.over_limit = end_after(std::chrono::duration<double>(*options.limit_seconds)); });
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(child_), &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
    end.code = reap();
    if (watchdog.joinable()) watchdog.join();
    return end;
  }

  void end() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
    }
    end_after(std::chrono::duration<double>(0));
  }

 private:
  void begin(const std::vector<std::string>& words, const fs::path& messages) {
    std::unique_lock lock(mutex_);
    wait_if_over(lock);
    child_ = start(words, messages);
  }

  /// Only after this may the system reuse the process id.
  int reap() {
    std::unique_lock lock(mutex_);
    int status = 0;
    ::waitpid(child_, &status, 0);
    child_ = 0;
    ended_.notify_all();
    wait_if_over(lock);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  void wait_if_over(std::unique_lock<std::mutex>& lock) {
    if (!over_) return;
    lock.unlock();
    for (;;) ::pause();
  }

  /// Returns whether the command had to be ended.
  bool end_after(std::chrono::duration<double> limit) {
    std::unique_lock lock(mutex_);
    const auto ended = [this] { return child_ == 0; };
    if (ended_.wait_for(lock, limit, ended)) return false;
    ::kill(child_, SIGTERM);
    if (ended_.wait_for(lock, kGrace, ended)) return true;
    ::kill(child_, SIGKILL);
    ended_.wait(lock, ended);
    return true;
  }

  static pid_t start(const std::vector<std::string>& words, const fs::path& messages);
  [[noreturn]] static void become(char* const* words, const char* messages, pid_t parent, int failure);

  std::mutex mutex_;
  std::condition_variable ended_;
  pid_t child_ = 0;    ///< 0: none
  bool over_ = false;  ///< this process is about to end
};

/// Runs in the child after fork, where no lock may be taken. An error before the command starts is written to
/// `failure`.
void Running::become(char* const* words, const char* messages, pid_t parent, int failure) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::_exit(1);
  // Restores the signals that this process blocks or ignores (cli/signals.hpp).
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nowhere = ::open("/dev/null", O_WRONLY);
  const int messages_to = *messages == '\0' ? STDERR_FILENO : ::open(messages, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (nowhere >= 0 && messages_to >= 0 && ::dup2(nowhere, STDOUT_FILENO) >= 0 &&
      ::dup2(messages_to, STDERR_FILENO) >= 0)
    ::execvp(words[0], words);
  const int error = errno;
  if (::write(failure, &error, sizeof error) < 0) ::_exit(2);
  ::_exit(1);
}

pid_t Running::start(const std::vector<std::string>& words, const fs::path& messages) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const auto refuse = [&](int error) {
    return DeviceError(fmt::format("cannot start {}: {}", words[0], std::strerror(error)));
  };
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw refuse(errno);
  const Descriptor read_end(ends[0]);
  Descriptor write_end(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child < 0) throw refuse(errno);
  if (child == 0) become(arguments.data(), messages.c_str(), parent, write_end.get());
  write_end = Descriptor();
  int error = 0;
  ssize_t length = 0;
  while ((length = ::read(read_end.get(), &error, sizeof error)) < 0 && errno == EINTR) {
  }
  if (length <= 0) return child;
  ::waitpid(child, nullptr, 0);
  throw refuse(error);
}

/// Never destroyed: another thread may end this process while it still waits.
Running& running() {
  static auto* const one = new Running;
  return *one;
}

}  // namespace

std::vector<std::string> infer_command(const std::optional<std::string>& launcher, Index ranks) {
  constexpr std::string_view kRanks = "{ranks}";
  std::istringstream stream(launcher.value_or(""));
  std::vector<std::string> words;
  for (std::string word; stream >> word;) {
    if (const auto at = word.find(kRanks); at != std::string::npos)
      word.replace(at, kRanks.size(), std::to_string(ranks));
    words.push_back(word);
  }
  if (launcher && words.empty()) throw UsageError("--launcher: expected a command");
  words.push_back(fs::read_symlink("/proc/self/exe").native());
  words.emplace_back("infer");
  return words;
}

CommandEnd run_command(const std::vector<std::string>& words, const CommandOptions& options) {
  return running().run(words, options);
}

void end_running_command() { running().end(); }

void check_run(const JsonFields& line) {
  line.text({"variant"});
  line.spread({"seconds", "infer"});
  line.number({"seconds", "total"});
  for (const char* const rate : {"rate", "rate_with_setup", "rate_end_to_end"}) line.number({rate});
  line.at({"rate_computed"});
  line.optional_number({"rate_computed"});
  line.text({"verdict", "status"});
  if (!line.at({"machine"}).is_object()) line.fail({"machine"}, "expected an object");
}

Json line_of_run(const fs::path& path) {
  const std::string text = text_of_file(path);
  const JsonFields line(path.native() + ":1", text);
  check_run(line);
  return line.at({});
}

void check_ranks(const Json& run, Index ranks) {
  const Json& ran = run.at("machine")["ranks"];
  if (ran != ranks) throw DeviceError(fmt::format("--launcher: {} ranks ran, expected {}", shown(ran), ranks));
}

}  // namespace spdnn::bench
