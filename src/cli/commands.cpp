#include "cli/commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "cli/command_form.hpp"
#include "core/text/nearest_name.hpp"
#include "spdnn/error.hpp"

namespace spdnn::cli {

std::span<const Command> commands() {
  static constexpr std::array kCommands{
      Command{"infer", "run a network or a model on images: result, verdict, rate", infer, infer_forms, true},
      Command{"generate", "make networks, inputs and models: official, synthetic", generate, generate_forms},
      Command{"convert", "convert networks, images and models between formats", convert, convert_forms},
      Command{"prune", "make a model sparse: weights become zero, others are fitted", prune, prune_forms},
      Command{"inspect", "show the structure of a network or model and the planned run", inspect, inspect_forms},
      Command{"bench", "time engines on single layers, official problems, several ranks", bench, bench_forms},
      Command{"report", "make tables and charts of results: Markdown, CSV, LaTeX, HTML", report, report_forms},
      Command{"variants", "list the engines of this build", variants, variants_forms},
      Command{"help", "show a command's options, man pages, shell completion", help, help_forms},
  };
  return kCommands;
}

const Command& find_command(const std::string& name) {
  const auto all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command& command) { return name == command.name; });
  if (found == all.end()) {
    std::vector<std::string> names;
    for (const Command& command : all) names.emplace_back(command.name);
    throw UsageError(fmt::format("'{}' is not a command{}; see spdnn --help", name, did_you_mean(name, names)));
  }
  return *found;
}

}  // namespace spdnn::cli
