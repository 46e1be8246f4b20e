#pragma once

#include <string>
#include <vector>

#include "cli/command_form.hpp"

namespace spdnn::cli {

/// The terminal width of stdout, limited to 40 to 120 columns; 80 if it is not a terminal.
unsigned stdout_columns();

/// Usage, examples and options of a command, or of one of its forms. No line exceeds `columns`, except in examples.
std::string help_text(const std::vector<CommandForm>& forms, unsigned columns);

/// Wraps words in lines of at most `columns`; all but the first start with `indent` blanks. Ends with a line break.
std::string wrapped(const std::string& text, unsigned columns, unsigned indent = 0);

}  // namespace spdnn::cli
