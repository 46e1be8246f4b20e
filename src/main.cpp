#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "cli/commands.hpp"
#include "core/build_info.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"infer", "run a network on images: categories, verdict, rate", infer},
      Command{"generate", "make networks and inputs: official, synthetic", generate},
      Command{"convert", "convert networks and images between their forms", convert},
      Command{"inspect", "what a network is made of and what would be run", inspect},
      Command{"bench", "time engines on synthetic layers", bench},
      Command{"variants", "list the engines of this build", variants},
  };
  return kCommands;
}

namespace {

void print_usage(std::FILE* stream) {
  fmt::print(stream, "usage: spdnn COMMAND [OPTIONS]      spdnn COMMAND --help      spdnn --version\n\n");
  for (const Command& command : commands()) fmt::print(stream, "  {:<10} {}\n", command.name, command.summary);
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) {
    print_usage(stderr);
    throw UsageError("a command is missing");
  }
  if (arguments[0] == "--help" || arguments[0] == "help") return print_usage(stdout), 0;
  if (arguments[0] == "--version") return fmt::print("{}\n", version_text()), 0;
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return arguments[0] == c.name; });
  if (found == all.end()) throw UsageError(fmt::format("'{}' is no command; see spdnn --help", arguments[0]));
  return found->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace
}  // namespace spdnn::cli

/// The only place that catches: errors become one line on stderr and an exit code. They end the program at once, as
/// threads may still be reading files or starting a device up that nobody needs any more.
int main(int argc, char** argv) {
  const auto fail = [](spdnn::ExitCode code, const char* what) -> int {
    std::fflush(stdout);
    fmt::print(stderr, "spdnn: {}\n", what);
    std::_Exit(static_cast<int>(code));
  };
  try {
    const int code = spdnn::cli::dispatch({argv + 1, argv + argc});
    if (std::fflush(stdout) != 0) return fail(spdnn::ExitCode::data, "cannot write to stdout");
    return code;
  } catch (const spdnn::Error& error) {
    return fail(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(spdnn::ExitCode::device, "out of host memory");
  } catch (const std::exception& error) {
    return fail(spdnn::ExitCode::data, error.what());
  }
}
