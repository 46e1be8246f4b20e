// Waiting OpenMP threads spin for some tens of microseconds and then sleep; they sleep immediately if the machine is
// busy when the program starts. By default libgomp spins for several milliseconds; on a busy machine, spinning threads
// take the processors from those that they wait for, and a run takes tens of times as long as on an idle one. libgomp
// reads the number of turns, GOMP_SPINCOUNT, in its constructor, before any code of a program linked with it runs. It
// uses getenv, so the program defines that function: the dynamic linker finds it before the C library's, which answers
// all other queries. results/tried.md has times and alternatives. The user's settings of GOMP_SPINCOUNT and
// OMP_WAIT_POLICY prevail. The installed library contains nothing of src/cli, because a library must not replace
// functions of its host program.

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstring>

// The code below runs before AddressSanitizer is initialised.
#define SPDNN_BEFORE_MAIN __attribute__((no_sanitize("address", "undefined")))

namespace {

/// Long enough for the waits between the layers of a model: less would cost up to 5 % on an idle machine.
constexpr std::chrono::nanoseconds kSpinning{75'000};

/// The machine counts as busy from this number of other runnable threads per processor.
constexpr long kBusy = 2;

using Getenv = char* (*)(const char*);
using Digits = std::array<char, 24>;

SPDNN_BEFORE_MAIN inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

/// Whether the whole machine is busy at this moment: the fourth field of /proc/loadavg begins with the number of
/// runnable threads, including this one.
SPDNN_BEFORE_MAIN bool machine_is_busy() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool read = ::read(file, text.data(), text.size() - 1) > 0;
  ::close(file);
  long running = 0;
  if (!read || std::sscanf(text.data(), "%*s %*s %*s %ld", &running) != 1) return false;
  return running - 1 >= kBusy * ::sysconf(_SC_NPROCESSORS_ONLN);
}

/// The number of turns of libgomp's loop in kSpinning. A turn takes 1 to 50 ns: x86 processors pause for 10 to 140
/// cycles, others not at all. The shortest of several measurements is free of interruptions. Cost: at most 30 us.
SPDNN_BEFORE_MAIN long turns_of_spinning() {
  constexpr int kTurns = 128;
  std::atomic<int> waited_for = 0;
  auto least = std::chrono::steady_clock::duration::max();
  for (int measurement = 0; measurement < 4; ++measurement) {
    const auto begin = std::chrono::steady_clock::now();
    for (int turn = 0; turn < kTurns && waited_for.load(std::memory_order_relaxed) == 0; ++turn) relax();
    least = std::min(least, std::chrono::steady_clock::now() - begin);
  }
  const long turns = kTurns * kSpinning.count() / std::max<long>(1, std::chrono::nanoseconds(least).count());
  return std::clamp<long>(turns, 500, 100'000);
}

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
  static Digits count = digits_of(machine_is_busy() ? 0 : turns_of_spinning());
  return count.data();
}
