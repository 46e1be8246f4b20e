#pragma once

#include <span>
#include <string>
#include <vector>

namespace spdnn::cli {

using Arguments = std::vector<std::string>;  ///< what follows the subcommand

/// A subcommand: returns the exit code, throws spdnn::Error. One file each in src/cli.
struct Command {
  const char* name;
  const char* summary;
  int (*run)(const Arguments& arguments);
  bool on_ranks = false;  ///< may be started as several ranks of a job
};

int infer(const Arguments& arguments);
int generate(const Arguments& arguments);
int convert(const Arguments& arguments);
int inspect(const Arguments& arguments);
int bench(const Arguments& arguments);
int report(const Arguments& arguments);
int variants(const Arguments& arguments);

std::span<const Command> commands();

}  // namespace spdnn::cli
