#include "cli/ending.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <initializer_list>
#include <new>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <thread>

#include "cluster/join.hpp"
#include "cluster/rank_name.hpp"
#include "core/system/exit_code.hpp"
#include "core/system/system_failure.hpp"
#include "core/text/message.hpp"
#include "io/files/atomic_file.hpp"

namespace spdnn::cli {

namespace {

std::atomic<bool> ended_by_main = false;
bool pipe_signal_was_default = false;

/// Ends all ranks, if there are several.
[[noreturn]] void end_process(ExitCode code) noexcept {
  ended_by_main = true;
  end_job(static_cast<int>(code));
  std::_Exit(static_cast<int>(code));
}

[[noreturn]] void fail(ExitCode code, std::initializer_list<std::string_view> message) noexcept {
  std::fflush(stdout);
  print_error(rank_name(), message);
  end_process(code);
}

[[noreturn]] void fail_on_stdout(int reason) noexcept {
  if (reason == EPIPE && pipe_signal_was_default) {
    std::signal(SIGPIPE, SIG_DFL);
    std::raise(SIGPIPE);
  }
  print_error(rank_name(), {"cannot write to stdout: ", std::strerror(reason)});
  end_process(ExitCode::data);
}

/// The exit code for a system call that failed with this errno value.
ExitCode code_for(int error) { return is_exhaustion(error) ? ExitCode::device : ExitCode::data; }

void open_standard_descriptors() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (::fcntl(number, F_GETFD) != -1 || errno != EBADF) continue;
    // open() returns the lowest free descriptor, which is this one. It is read-only, so that writing fails as with a
    // closed descriptor.
    if (::open("/dev/null", O_RDONLY) < 0) ::open("/", O_RDONLY | O_DIRECTORY);
  }
}

/// Handles an exit that did not come from main.
void end_for_a_library() {
  if (ended_by_main) return;
  if (is_joining())
    fail(ExitCode::device, {"MPI ended the program during start-up: the launcher named in the environment (PMI_FD, "
                            "PMIX_RANK and the like) does not answer"});
  fail(ExitCode::device, {"a library ended the program: it could not get a thread or memory"});
}

}  // namespace

std::string message_of(const Error& error) {
  if (error.field().empty()) return error.what();
  std::string option = "--" + error.field();
  std::replace(option.begin(), option.end(), '_', '-');
  return option + std::string(error.what()).substr(error.field().size());
}

void guard_every_end() {
  open_standard_descriptors();
  pipe_signal_was_default = std::signal(SIGPIPE, SIG_IGN) == SIG_DFL;
  std::signal(SIGXFSZ, SIG_IGN);
  std::set_terminate(end_by_exception);
  std::atexit(end_for_a_library);
}

void end_without_others(int seconds) noexcept {
  fail(ExitCode::device, {"not all ranks started within ", std::to_string(seconds),
                          " s (--join-timeout): one may have ended early, or may run another command"});
}

int end(int code) {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = EIO;
  if (std::fclose(stdout) != 0 || failed_before) fail_on_stdout(errno);
  ended_by_main = true;
  return code;
}

void end_by_exception() noexcept {
  if (!std::current_exception())
    fail(ExitCode::device, {"internal error: std::terminate was called; please report it with the command line"});
  // Before they have joined, all ranks usually meet the same error: rank 0 reports it, and its exit ends the others,
  // unless only they have failed.
  if (!reports_errors_at_once()) std::this_thread::sleep_for(std::chrono::seconds(2));
  try {
    throw;
  } catch (const Unsupported& error) {
    fail(ExitCode::usage, {message_of(error), ": make GPU=1"});
  } catch (const UsageError& error) {
    fail(ExitCode::usage, {message_of(error)});
  } catch (const ClosedStdout&) {
    fail_on_stdout(EPIPE);
  } catch (const DataError& error) {
    fail(ExitCode::data, {message_of(error)});
  } catch (const Error& error) {
    fail(ExitCode::device, {message_of(error)});
  } catch (const std::bad_alloc&) {
    fail(ExitCode::device, {"out of host memory"});
  } catch (const std::length_error&) {  // a container with more elements than the address space
    fail(ExitCode::device, {"out of host memory"});
  } catch (const std::filesystem::filesystem_error& error) {
    fail(code_for(error.code().value()),
         {error.path1().native(), ": cannot read or write: ", std::strerror(error.code().value())});
  } catch (const std::system_error& error) {
    if (std::ferror(stdout) != 0) fail_on_stdout(error.code().value());
    fail(code_for(error.code().value()), {"the system reported: ", std::strerror(error.code().value())});
  } catch (const std::exception& error) {
    fail(ExitCode::device, {"internal error: ", error.what(), "; please report it with the command line"});
  } catch (...) {
    fail(ExitCode::device, {"internal error: an exception of unknown type; please report it with the command line"});
  }
}

}  // namespace spdnn::cli
