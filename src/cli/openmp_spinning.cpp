// Waiting OpenMP threads spin for some tens of microseconds and then sleep; they sleep immediately if the machine is
// busy when the program starts. By default libgomp spins for several milliseconds; on a busy machine, spinning threads
// take the processors from those that they wait for, and a run takes tens of times as long as on an idle one. libgomp
// reads the number of turns, GOMP_SPINCOUNT, in its constructor, before any code of a program linked with it runs. It
// uses getenv, so the program defines that function: the dynamic linker finds it before the C library's, which answers
// all other queries. results/tried.md has times and alternatives. The user's settings of GOMP_SPINCOUNT and
// OMP_WAIT_POLICY prevail. The installed library contains nothing of src/cli, because a library must not replace
// functions of its host program.

#include <dlfcn.h>

#include <array>
#include <charconv>
#include <cstring>

#include "core/threads/waiting.hpp"

namespace {

using Getenv = char* (*)(const char*);
using Digits = std::array<char, 24>;

SPDNN_BEFORE_MAIN Digits digits_of(long number) {
  Digits digits{};
  std::to_chars(digits.data(), digits.data() + digits.size() - 1, number);
  return digits;
}

}  // namespace

extern "C" SPDNN_BEFORE_MAIN char* getenv(const char* name) noexcept {
  static const auto given = reinterpret_cast<Getenv>(::dlsym(RTLD_NEXT, "getenv"));
  char* const value = given(name);
  if (value != nullptr || std::strcmp(name, "GOMP_SPINCOUNT") != 0 || given("OMP_WAIT_POLICY") != nullptr) return value;
  static Digits count = digits_of(spdnn::waiting::machine_is_busy() ? 0 : spdnn::waiting::turns_of_spinning());
  return count.data();
}
