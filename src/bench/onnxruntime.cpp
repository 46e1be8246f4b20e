#include "bench/onnxruntime.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "bench/run_folder.hpp"
#include "core/text/json_text.hpp"
#include "core/text/message.hpp"
#include "spdnn/error.hpp"

extern char** environ;

namespace spdnn::bench {

namespace fs = std::filesystem;

namespace {

constexpr const char* kNodeScript =
#include "onnxruntime.js.literal"
    ;
constexpr const char* kPythonScript =
#include "onnxruntime.py.literal"
    ;

/// Where node looks for packages besides its own places.
std::string node_path() {
  const char* const given = std::getenv("NODE_PATH");
  const fs::path built = fs::read_symlink("/proc/self/exe").parent_path().parent_path() / "onnxruntime";
  return given == nullptr || *given == '\0' ? built.native() : fmt::format("{}:{}", given, built.native());
}

/// The signals of a process that is started: none is blocked or ignored, unlike in this one (cli/signals.hpp).
class Attributes {
 public:
  Attributes() {
    ::posix_spawnattr_init(&attributes_);
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes_, &signals);
    ::sigfillset(&signals);
    ::posix_spawnattr_setsigdefault(&attributes_, &signals);
    ::posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { ::posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

/// stdin and stdout of a process that is started are a socket, its stderr a file.
class Streams {
 public:
  Streams(int socket, const fs::path& messages) {
    ::posix_spawn_file_actions_init(&actions_);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    ::posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
    ::posix_spawn_file_actions_addopen(&actions_, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  }
  ~Streams() { ::posix_spawn_file_actions_destroy(&actions_); }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

Tensor tensor_of(const Json& output) {
  std::vector<float> numbers;
  for (const Json& value : output.at("values")) numbers.push_back(value.is_null() ? NAN : value.get<float>());
  return {output.at("shape").get<Shape>(), std::move(numbers)};
}

}  // namespace

OnnxRuntime::OnnxRuntime(int threads, const fs::path& messages) : messages_(messages) {
  const std::string count = std::to_string(threads);
  std::string reasons;
  for (const auto& words : {std::vector<std::string>{"node", "--eval", kNodeScript, count},
                            std::vector<std::string>{"python3", "-c", kPythonScript, count}}) {
    std::string reason = "no such command";
    if (start(words)) {
      const Json greeting = parse_json_or_null(line());
      if (greeting.contains("version")) {
        version_ = escaped(greeting["version"].get<std::string>());
        host_ = words[0];
        return;
      }
      end();
      reason = greeting.contains("error") ? escaped(greeting["error"].get<std::string>()) : reason_in(messages_);
    }
    reasons += fmt::format("{}{}: {}", reasons.empty() ? "" : "; ", words[0], reason);
  }
  throw DeviceError(
      fmt::format("onnxruntime: expected node with onnxruntime-node, or Python with onnxruntime ({})", reasons));
}

OnnxRuntime::~OnnxRuntime() { end(); }

bool OnnxRuntime::start(std::vector<std::string> words) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
    throw DeviceError(fmt::format("cannot start onnxruntime: {}", std::strerror(errno)));
  socket_ = Descriptor(ends[0]);
  const Descriptor theirs(ends[1]);
  std::vector<std::string> variables{"NODE_PATH=" + node_path()};
  for (char** one = environ; *one != nullptr; ++one)
    if (std::strncmp(*one, "NODE_PATH=", 10) != 0) variables.emplace_back(*one);
  const auto pointers = [](std::vector<std::string>& texts) {
    std::vector<char*> all;
    all.reserve(texts.size() + 1);
    for (std::string& text : texts) all.push_back(text.data());
    all.push_back(nullptr);
    return all;
  };
  const Streams streams(theirs.get(), messages_);
  const Attributes attributes;
  const int error = ::posix_spawnp(&child_, words[0].c_str(), streams.get(), attributes.get(), pointers(words).data(),
                                   pointers(variables).data());
  if (error != 0) child_ = 0;
  return error == 0;
}

/// The process ends when its input does.
void OnnxRuntime::end() {
  socket_ = Descriptor();
  read_.clear();
  if (child_ != 0) ::waitpid(child_, nullptr, 0);
  child_ = 0;
}

std::string OnnxRuntime::line() {
  std::size_t searched = 0;
  for (std::size_t at = 0;; searched = read_.size() - at) {
    const std::size_t found = read_.find('\n', searched);
    if (found != std::string::npos) {
      std::string text = read_.substr(0, found);
      read_.erase(0, found + 1);
      return text;
    }
    std::array<char, 1 << 16> bytes{};
    ssize_t length = 0;
    while ((length = ::recv(socket_.get(), bytes.data(), bytes.size(), 0)) < 0 && errno == EINTR) {
    }
    if (length <= 0) return {};
    at = static_cast<std::size_t>(length);
    read_.append(bytes.data(), at);
  }
}

Json OnnxRuntime::ask(const std::string& words) {
  const std::string sent = words + "\n";
  // Commands are shorter than the socket's buffer.
  const ssize_t length = ::send(socket_.get(), sent.data(), sent.size(), MSG_NOSIGNAL);
  Json answer;
  if (length >= 0) answer = parse_json_or_null(line());
  if (!answer.is_object()) throw DeviceError("onnxruntime has ended: " + reason_in(messages_));
  if (answer.contains("error")) throw DataError("onnxruntime: " + escaped(answer["error"].get<std::string>()));
  return answer;
}

void OnnxRuntime::load(const fs::path& model, const fs::path& input) {
  ask(fmt::format("load\t{}\t{}", model.native(), input.native()));
}

std::vector<NamedTensor> OnnxRuntime::outputs() {
  std::vector<NamedTensor> outputs;
  const Json answer = ask("outputs");
  for (const Json& output : answer.at("outputs"))
    outputs.push_back({output.at("name").get<std::string>(), tensor_of(output)});
  return outputs;
}

std::vector<double> OnnxRuntime::times(Index runs) {
  return ask(fmt::format("time\t{}", runs)).at("seconds").get<std::vector<double>>();
}

}  // namespace spdnn::bench
