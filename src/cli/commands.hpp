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
int prune(const Arguments& arguments);
int inspect(const Arguments& arguments);
int bench(const Arguments& arguments);
int report(const Arguments& arguments);
int variants(const Arguments& arguments);
int help(const Arguments& arguments);

std::vector<CommandForm> infer_forms();
std::vector<CommandForm> generate_forms();
std::vector<CommandForm> convert_forms();
std::vector<CommandForm> prune_forms();
std::vector<CommandForm> inspect_forms();
std::vector<CommandForm> bench_forms();
std::vector<CommandForm> report_forms();
std::vector<CommandForm> variants_forms();
std::vector<CommandForm> help_forms();

/// The parts of bench, and inspect for a model.
int bench_layers(const Arguments& arguments);
int bench_model(const Arguments& arguments);
int bench_conv(const Arguments& arguments);
int bench_suite(const Arguments& arguments);
int bench_scaling(const Arguments& arguments);
int inspect_model(const Arguments& arguments);
CommandForm bench_layers_form();
CommandForm bench_model_form();
CommandForm bench_conv_form();
CommandForm bench_suite_form();
CommandForm bench_scaling_form();
CommandForm inspect_model_form();

std::span<const Command> commands();
/// UsageError if the command is unknown.
const Command& find_command(const std::string& name);

/// A completion script for a shell, `bash` or `fish`: commands, options, and the values or files that options take.
/// UsageError for other shells.
std::string completion(const std::string& shell, std::span<const Command> commands);
/// The man page of one command, spdnn-NAME(1), in the macros of man(7).
std::string man_page(const Command& command);
/// spdnn(1), which lists the commands and the exit codes.
std::string man_page(std::span<const Command> commands);

}  // namespace spdnn::cli
