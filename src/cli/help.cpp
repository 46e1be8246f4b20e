#include <fmt/format.h>

#include <string>

#include "cli/commands.hpp"
#include "cli/help_text.hpp"
#include "cli/options.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

namespace {

std::string overview() {
  std::string text = "usage: spdnn COMMAND [OPTIONS]      spdnn help COMMAND      spdnn --version\n\n";
  for (const Command& command : commands()) text += fmt::format("  {:<10} {}\n", command.name, command.summary);
  return text;
}

/// The forms of the command selected by all of these words, such as `bench suite`.
std::vector<CommandForm> forms_of(const std::vector<std::string>& words) {
  const std::string name = fmt::format("{}", fmt::join(words, " "));
  std::vector<CommandForm> chosen;
  for (const CommandForm& form : find_command(words.front()).forms())
    if (form.name == name || form.name.starts_with(name + " ")) chosen.push_back(form);
  if (chosen.empty()) throw UsageError(fmt::format("'{}' is not a command; see spdnn help {}", name, words.front()));
  return chosen;
}

}  // namespace

std::vector<CommandForm> help_forms() {
  OptionGroup group;
  group.options.add_options()                                                                      //
      ("man", "print a man page, for instance for `man -l`; without COMMAND, an overview of all")  //
      ("completion", takes("bash|fish"), "print a completion script for a shell");
  return {
      {.name = "help",
       .summary = "Shows the options of a command, such as infer or bench suite; without COMMAND, lists all commands.",
       .usage = "spdnn help [COMMAND]... [OPTIONS]",
       .groups = {group},
       .positional = {"[COMMAND]..."},
       .examples = "  spdnn help bench suite\n"
                   "  spdnn help --man infer | man -l -\n"
                   "  source <(spdnn help --completion bash)\n"}};
}

int help(const Arguments& arguments) {
  po::variables_map values;
  if (!parse(arguments, help_forms().front(), values)) return 0;
  std::vector<std::string> words;
  if (values.count("command") != 0) words = values["command"].as<std::vector<std::string>>();
  if (const auto shell = text_of(values, "completion")) {
    if (!words.empty()) throw UsageError("--completion: expected no COMMAND; a script covers all commands");
    refuse(values, {"man"}, "--completion");
    fmt::print("{}", completion(*shell, commands()));
  } else if (values.count("man") != 0) {
    if (words.size() > 1) throw UsageError("--man: expected one COMMAND, such as infer or bench");
    fmt::print("{}", words.empty() ? man_page(commands()) : man_page(find_command(words.front())));
  } else {
    fmt::print("{}", words.empty() ? overview() : help_text(forms_of(words), stdout_columns()));
  }
  return 0;
}

}  // namespace spdnn::cli
