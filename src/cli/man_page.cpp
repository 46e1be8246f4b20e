#include <fmt/format.h>

#include <array>
#include <cctype>
#include <utility>
#include <vector>

#include "cli/command_form.hpp"
#include "cli/commands.hpp"
#include "cli/help_text.hpp"
#include "core/system/build_info.hpp"
#include "core/system/exit_code.hpp"

namespace spdnn::cli {

namespace {

/// Escapes text for roff: no requests, no escapes, and hyphens that can be copied from the page.
std::string roff_text(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    const bool line_starts = result.empty() || result.back() == '\n';
    if (line_starts && (letter == '.' || letter == '\'')) result += "\\&";
    if (letter == '\\')
      result += "\\e";
    else if (letter == '-')
      result += "\\-";
    else
      result += letter;
  }
  return result;
}

/// Text in lines that roff fills again.
std::string paragraph(const std::string& text) { return roff_text(wrapped(text, 72)); }

std::string head(const std::string& page, const std::string& summary) {
  std::string capitals = page;
  for (char& letter : capitals) letter = static_cast<char>(std::toupper(static_cast<unsigned char>(letter)));
  return fmt::format(".TH \"{}\" 1 \"\" \"spdnn {}\" \"spdnn\"\n.SH NAME\n{} \\- {}\n", capitals, build_info().version,
                     roff_text(page), roff_text(summary));
}

std::string options_of(const CommandForm& form, bool named) {
  std::string text;
  for (const OptionGroup& group : form.groups) {
    text += fmt::format(".SS \"{}{}\"\n", named ? roff_text(form.name) + ": " : "", roff_text(group.heading));
    for (const auto& option : group.options.options()) {
      const std::string value = option->format_parameter();
      text += fmt::format(".TP\n\\fB{}\\fR{}\n{}", roff_text(option->format_name()),
                          value.empty() ? "" : " \\fI" + roff_text(value) + "\\fR", paragraph(option->description()));
    }
  }
  return text;
}

std::string exit_codes() {
  constexpr std::array kCodes{
      std::pair{ExitCode::done, "Success."},
      std::pair{ExitCode::wrong_results, "Wrong results: categories, or a model's logits or accuracy."},
      std::pair{ExitCode::usage, "A usage error: something on the command line does not exist or is inconsistent."},
      std::pair{ExitCode::data, "Invalid, missing or unreadable data, or an output that cannot be written."},
      std::pair{ExitCode::device, "Device, memory, threads or MPI: the machine lacks a resource."},
      std::pair{ExitCode::stopped,
                "Stopped by a signal or by --max-time, with a checkpoint: the same command continues the run."}};
  std::string text = ".SH EXIT STATUS\n";
  for (const auto& [code, meaning] : kCodes)
    text += fmt::format(".TP\n{}\n{}", static_cast<int>(code), paragraph(meaning));
  return text;
}

}  // namespace

std::string man_page(const Command& command) {
  const std::vector<CommandForm> forms = command.forms();
  std::string synopsis = ".SH SYNOPSIS\n";
  std::string description = ".SH DESCRIPTION\n";
  std::string options = ".SH OPTIONS\n";
  std::string examples = ".SH EXAMPLES\n.EX\n";
  std::string between;
  for (const CommandForm& form : forms) {
    synopsis += between + paragraph(form.usage);
    description += (between.empty() ? "" : ".PP\n") + paragraph(form.summary);
    options += options_of(form, forms.size() > 1);
    examples += roff_text(form.examples);
    between = ".br\n";
  }
  return head(fmt::format("spdnn-{}", command.name), command.summary) + synopsis + description + options + examples +
         ".EE\n.SH SEE ALSO\n.BR spdnn (1)\n";
}

std::string man_page(std::span<const Command> commands) {
  std::string text = head("spdnn", "exact inference of sparse neural networks and pruned models");
  text +=
      ".SH SYNOPSIS\nspdnn COMMAND [OPTIONS]\n.br\nspdnn help COMMAND\n.br\nspdnn \\-\\-version\n.SH DESCRIPTION\n" +
      paragraph(
          "spdnn infers the networks of the Sparse Deep Neural Network Graph Challenge and pruned convolutional "
          "networks, and verifies the results.") +
      ".SH COMMANDS\n";
  std::string pages;
  for (const Command& command : commands) {
    text += fmt::format(".TP\n\\fB{}\\fR\n{}\n", command.name, roff_text(command.summary));
    pages += fmt::format("{}.BR spdnn\\-{} (1)", pages.empty() ? "" : ",\n", command.name);
  }
  return text + exit_codes() + ".SH SEE ALSO\n" + pages + '\n';
}

}  // namespace spdnn::cli
