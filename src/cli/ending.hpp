#pragma once

#include <string>

#include "spdnn/error.hpp"

namespace spdnn::cli {

/// To be called first. However the program ends from then on, it does so by one of its exit codes and, unless all is
/// well, with one line on stderr:
/// - Descriptors 0, 1 and 2 are open. Where the caller closed one, reading and writing there fail, and no file that is
///   opened later gets its number and with it the messages.
/// - A pipe that nobody reads and a file beyond the limit of the shell (ulimit -f) are errors of write(), not signals:
///   what goes to other files is still written.
/// - An exception that cannot be caught, or a library that ends the program by itself (libgomp does where it gets no
///   thread), is exit code 4.
void guard_every_end();

/// The last statement of main: makes sure that stdout is written, and returns the exit code. Where nobody reads
/// stdout any more (`| head`), the program ends by SIGPIPE, silently, as others do, unless its caller ignored SIGPIPE.
int end(int code);

/// Ends the program from any thread, as the other ranks have not come within so many seconds.
[[noreturn]] void end_without_others(int seconds) noexcept;

/// For main's handler: one line on stderr and the exit code that go with the exception at hand. The program ends at
/// once, without destroying what is static: a device that is just starting up is not waited for. That only saves time;
/// whatever the library began, its destructors would wait for.
[[noreturn]] void end_by_exception() noexcept;

/// The text of the line that end_by_exception() writes for this error. Options bear the names of the fields that they
/// fill: an error about `bias_rule` is one about --bias-rule.
std::string message_of(const Error& error);

}  // namespace spdnn::cli
