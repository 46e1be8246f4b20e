#pragma once

#include <string>
#include <vector>

#include "cli/command_form.hpp"

namespace spdnn::cli {

/// Columns of the terminal that stdout is, from 40 to 120; 80 where it is none.
unsigned stdout_columns();

/// Usage, examples and options of a command, or of one of its forms. No line is longer than `columns`, apart from
/// examples.
std::string help_text(const std::vector<CommandForm>& forms, unsigned columns);

/// Words in lines of at most `columns`, all but the first of which begin with `indent` blanks. Ends with a line break.
std::string wrapped(const std::string& text, unsigned columns, unsigned indent = 0);

}  // namespace spdnn::cli
