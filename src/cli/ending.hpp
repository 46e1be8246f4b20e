#pragma once

#include <string>

#include "spdnn/error.hpp"

namespace spdnn::cli {

/// To be called first. However the program ends from then on, it does so by one of its exit codes and, unless all is
/// well, with one line on stderr:
/// - Descriptors 0, 1 and 2 are open. Where the caller closed one, reading and writing there fail, and no file that is
///   opened later gets its number and with it the messages.
/// - A pipe that nobody reads and a file beyond the limit of the shell (ulimit -f) are errors of write(), not signals:
///   output to other files is still written.
/// - An exception that cannot be caught, or a library that ends the program (libgomp if it gets no thread, FFTW if it
///   gets no memory), gives exit code 4.
void guard_every_end();

/// The last statement of main: flushes stdout and returns the exit code. If stdout's reader has closed the pipe, as
/// `| head` does, the program ends silently by SIGPIPE, as usual, unless its caller ignored SIGPIPE.
int end(int code);

/// Exits because the other ranks did not join within `seconds`. Any thread may call it.
[[noreturn]] void end_without_others(int seconds) noexcept;

/// For main's exception handler: prints one line on stderr and exits with the code that matches the current exception.
/// The program ends immediately, without destroying static objects, and so without waiting for a device that is still
/// starting up. This only saves time; destructors would wait for everything that the library has started.
[[noreturn]] void end_by_exception() noexcept;

/// The text of the line that end_by_exception() prints for this error. Options are named after the fields that they
/// set: an error about `bias_rule` concerns --bias-rule.
std::string message_of(const Error& error);

}  // namespace spdnn::cli
