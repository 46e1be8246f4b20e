#include "bench/run_folder.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>

#include "core/text/message.hpp"
#include "io/files/output_target.hpp"

namespace spdnn::bench {

namespace fs = std::filesystem;

namespace {

/// Creates `scratch` if it is missing, and returns it.
const fs::path& created(const fs::path& scratch) {
  std::error_code error;
  fs::create_directories(scratch, error);
  if (error) fail_to_write(scratch, error.value());
  return scratch;
}

bool says_something(std::string_view line) {
  return std::any_of(line.begin(), line.end(), [](unsigned char c) { return std::isalnum(c) != 0; });
}

/// Quotes a word that a shell would interpret.
std::string shell_word(const std::string& word) {
  const auto plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || std::string_view("_-./,:=+@%").find(static_cast<char>(c)) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), plain)) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

}  // namespace

RunFolder::RunFolder(const fs::path& scratch, const char* name) try
    : folder_(Temporary::Kind::directory, created(scratch), (scratch / name).lexically_normal(), 0755) {
} catch (const std::system_error& error) {
  fail_to_write(scratch, error.code().value());
}

void add_option(std::vector<std::string>& command, const char* option, const std::string& value) {
  command.push_back(std::string("--") + option);
  command.push_back(value);
}

std::string shell_text(const std::vector<std::string>& command) {
  std::vector<std::string> words;
  words.reserve(command.size());
  std::transform(command.begin(), command.end(), std::back_inserter(words), shell_word);
  return fmt::format("{}", fmt::join(words, " "));
}

std::string reason_in(const fs::path& messages) {
  constexpr std::string_view kOurs = "spdnn: ";
  constexpr std::size_t kMost = 300;
  std::ifstream file(messages);
  std::string all;
  for (std::string line; std::getline(file, line);) {
    if (const std::size_t at = line.find(kOurs); at != std::string::npos)
      return escaped(line.substr(at + kOurs.size()));
    if (all.size() > kMost || !says_something(line)) continue;
    const std::size_t first = line.find_first_not_of(" \t");
    all += (all.empty() ? "" : " ") + line.substr(first);
  }
  if (all.empty()) return "it printed no message";
  if (all.size() > kMost) all = all.substr(0, kMost) + " ...";
  return escaped(all);
}

}  // namespace spdnn::bench
