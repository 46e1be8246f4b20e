#include "cli/help_text.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <sstream>

namespace spdnn::cli {

namespace {

std::string without_trailing_blanks(const std::string& text) {
  std::string lines;
  for (const char c : text) {
    if (c == '\n') lines.erase(lines.find_last_not_of(' ') + 1);
    lines += c;
  }
  return lines;
}

std::string option_text(const std::vector<OptionGroup>& groups, unsigned columns) {
  const unsigned descriptions = columns * 11 / 20;  // minimum width of descriptions; longer names get their own line
  po::options_description all("", columns, descriptions);  // aligns all groups
  for (const OptionGroup& group : groups) {
    po::options_description printed(group.heading, columns, descriptions);
    for (const auto& option : group.options.options()) printed.add(option);
    all.add(printed);
  }
  std::ostringstream text;
  text << all;
  return without_trailing_blanks(text.str());  // Boost leaves blanks at line breaks
}

std::string form_text(const CommandForm& form, unsigned columns) {
  std::string text = "\n" + wrapped(form.summary, columns);
  if (!form.examples.empty()) text += "\nexamples:\n" + form.examples;
  return text + option_text(form.groups, columns);
}

}  // namespace

unsigned stdout_columns() {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return std::clamp<unsigned>(size.ws_col, 40, 120);
}

std::string wrapped(const std::string& text, unsigned columns, unsigned indent) {
  std::istringstream words(text);
  std::string lines;
  std::string line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > columns) {
      lines += line + '\n';
      line = std::string(indent, ' ') + word;
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines + line + '\n';
}

std::string help_text(const std::vector<CommandForm>& forms, unsigned columns) {
  std::string text;
  for (const CommandForm& form : forms)
    text += (text.empty() ? "usage: " : "       ") + wrapped(form.usage, columns - 7, 9);
  for (const CommandForm& form : forms) {
    if (forms.size() > 1) text += "\n" + wrapped(form.usage, columns, 2);
    text += form_text(form, columns);
  }
  return text;
}

}  // namespace spdnn::cli
