#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/exit_code.hpp"
#include "cli/signals.hpp"
#include "cluster/join.hpp"
#include "cluster/launch.hpp"
#include "cluster/rank_guard.hpp"
#include "core/build_info.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"infer", "run a network or a model on images: result, verdict, rate", infer, true},
      Command{"generate", "make networks, inputs and models: official, synthetic", generate},
      Command{"convert", "convert networks, images and models between their forms", convert},
      Command{"inspect", "what a network or a model is made of and what would be run", inspect},
      Command{"bench", "time engines on single layers, official problems, several ranks", bench},
      Command{"report", "tables and charts of JSON lines: Markdown, CSV, LaTeX, HTML", report},
      Command{"variants", "list the engines of this build", variants},
  };
  return kCommands;
}

namespace {

void print_usage() {
  fmt::print("usage: spdnn COMMAND [OPTIONS]      spdnn COMMAND --help      spdnn --version\n\n");
  for (const Command& command : commands()) fmt::print("  {:<10} {}\n", command.name, command.summary);
}

void print_version() {
  const std::string mpi = mpi_libraries();
  fmt::print("{}\nMPI:    {}\n", version_text(), mpi.empty() ? "no (built without MPI)" : mpi);
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) throw UsageError("a command is missing; see spdnn --help");
  if (arguments[0] == "--help" || arguments[0] == "help") return print_usage(), 0;
  if (arguments[0] == "--version") return print_version(), 0;
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& c) { return arguments[0] == c.name; });
  if (found == all.end()) throw UsageError(fmt::format("'{}' is no command; see spdnn --help", arguments[0]));
  if (!found->on_ranks && this_launch().maybe_several())
    throw UsageError(fmt::format("'{}' is for one process, but a launcher started several", arguments[0]));
  return found->run({arguments.begin() + 1, arguments.end()});
}

}  // namespace
}  // namespace spdnn::cli

/// The only place that ends the program for an exception; cli/ending.hpp says how the program ends.
int main(int argc, char** argv) {
  spdnn::cli::guard_every_end();
  spdnn::guard_rank(static_cast<int>(spdnn::cli::ExitCode::device));
  spdnn::cli::clean_up_on_signals();
  try {
    return spdnn::cli::end(spdnn::cli::dispatch({argv + 1, argv + argc}));
  } catch (...) {
    spdnn::cli::end_by_exception();
  }
}
