#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "cli/commands.hpp"
#include "cli/ending.hpp"
#include "cli/signals.hpp"
#include "cluster/join.hpp"
#include "cluster/launch.hpp"
#include "cluster/rank_guard.hpp"
#include "core/system/build_info.hpp"
#include "core/system/exit_code.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

void print_version() {
  const std::string mpi = mpi_libraries();
  fmt::print("{}\nMPI:    {}\n", version_text(), mpi.empty() ? "no (built without MPI)" : mpi);
}

bool asks_for_help(const std::string& argument) { return argument == "--help" || argument == "-h"; }

/// Other ranks would wait for one that does this and ends.
void require_one_process(const std::string& what) {
  if (this_launch().maybe_several())
    throw UsageError(fmt::format("'{}' is for one process, but a launcher started several", what));
}

int dispatch(const Arguments& arguments) {
  if (arguments.empty()) throw UsageError("a command is missing; see spdnn --help");
  const Arguments rest(arguments.begin() + 1, arguments.end());
  const auto help_asked = std::find_if(arguments.begin(), arguments.end(), asks_for_help);
  if (help_asked != arguments.end()) require_one_process(*help_asked);
  if (asks_for_help(arguments[0])) return help(rest);
  if (arguments[0] == "--version" || arguments[0] == "version") return print_version(), 0;
  const Command& command = find_command(arguments[0]);
  if (!command.on_ranks) require_one_process(arguments[0]);
  return rest.size() == 1 && asks_for_help(rest[0]) ? help({arguments[0]}) : command.run(rest);
}

}  // namespace
}  // namespace spdnn::cli

/// The only place that ends the program for an exception; cli/ending.hpp says how the program ends.
int main(int argc, char** argv) {
  spdnn::cli::guard_every_end();
  spdnn::guard_rank(static_cast<int>(spdnn::ExitCode::device));
  spdnn::cli::clean_up_on_signals();
  try {
    return spdnn::cli::end(spdnn::cli::dispatch({argv + 1, argv + argc}));
  } catch (...) {
    spdnn::cli::end_by_exception();
  }
}
