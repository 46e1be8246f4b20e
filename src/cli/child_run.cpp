#include "cli/child_run.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <span>
#include <sstream>
#include <string_view>

#include "io/input_file.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace fs = std::filesystem;

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

int run_command(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  arguments.reserve(words.size() + 1);
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  // This process blocks and ignores signals (cli/signals.hpp) that the command is to hear.
  posix_spawnattr_t attributes;
  sigset_t none;
  sigset_t all;
  ::sigemptyset(&none);
  ::sigfillset(&all);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  const int error = ::posix_spawnp(&child, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) throw DeviceError(fmt::format("{}: cannot be started: {}", words[0], std::strerror(error)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

nlohmann::ordered_json line_of_run(const fs::path& path) {
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return nlohmann::ordered_json::parse(text);
}

void check_ranks(const nlohmann::ordered_json& run, Index ranks) {
  if (run["machine"]["ranks"] != ranks)
    throw DeviceError(fmt::format("--launcher: {} ranks ran, expected {}", run["machine"]["ranks"].dump(), ranks));
}

}  // namespace spdnn::cli
