#pragma once

#include <span>
#include <string>
#include <vector>

namespace spdnn::cli {

struct CommandForm;

using Arguments = std::vector<std::string>;  ///< the words after the subcommand

/// A subcommand: returns the exit code, throws spdnn::Error. Each has its own file in src/cli.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments);
  std::vector<CommandForm> (*forms)();  ///< the ways to call it
  bool on_ranks = false;                ///< whether it may run as several ranks of a job
};

int infer(const Arguments& arguments);
int generate(const Arguments& arguments);
int convert(const Arguments& arguments);
int inspect(const Arguments& arguments);
int bench(const Arguments& arguments);
int report(const Arguments& arguments);
int variants(const Arguments& arguments);
int help(const Arguments& arguments);

std::vector<CommandForm> infer_forms();
std::vector<CommandForm> generate_forms();
std::vector<CommandForm> convert_forms();
std::vector<CommandForm> inspect_forms();
std::vector<CommandForm> bench_forms();
std::vector<CommandForm> report_forms();
std::vector<CommandForm> variants_forms();
std::vector<CommandForm> help_forms();

std::span<const Command> commands();
/// UsageError if the command is unknown.
const Command& find_command(const std::string& name);

}  // namespace spdnn::cli
