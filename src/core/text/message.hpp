#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

namespace spdnn {

/// The text as one line that is safe on a terminal: control characters (C0, DEL, C1) and bytes that are not UTF-8
/// become \xHH. File names may contain any byte but zero.
std::string escaped(std::string_view text);

/// Prints `spdnn: ` and the parts, escaped, as one line on stderr. Allocates no memory, and ignores errors of stderr: a
/// message that cannot be printed must not change how the program ends.
void print_message(std::initializer_list<std::string_view> parts) noexcept;
/// The same with `who` before the parts.
void print_message(std::string_view who, std::initializer_list<std::string_view> parts) noexcept;

/// Prints the error that ends the program, and appends the line to the file named by the environment variable
/// SPDNN_ERROR_FILE: a launcher that ends a job may lose what its ranks have just printed.
void print_error(std::string_view who, std::initializer_list<std::string_view> parts) noexcept;

}  // namespace spdnn
