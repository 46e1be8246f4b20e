#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>

// The functions below may run before AddressSanitizer is initialised.
#define SPDNN_BEFORE_MAIN __attribute__((no_sanitize("address", "undefined")))

/// How long a thread that waits for others spins before it sleeps.
namespace spdnn::waiting {

/// Long enough for the waits between the layers of a model: less would cost up to 5 % on an idle machine.
inline constexpr std::chrono::nanoseconds kSpinning{75'000};

/// The machine counts as busy from this number of other runnable threads per processor.
inline constexpr long kBusy = 2;

/// A turn of spinning.
SPDNN_BEFORE_MAIN inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#else
  asm volatile("" ::: "memory");
#endif
}

/// Whether the whole machine is busy at this moment: the fourth field of /proc/loadavg begins with the number of
/// runnable threads, including this one.
SPDNN_BEFORE_MAIN inline bool machine_is_busy() {
  std::array<char, 128> text{};
  const int file = ::open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  const bool read = ::read(file, text.data(), text.size() - 1) > 0;
  ::close(file);
  long running = 0;
  if (!read || std::sscanf(text.data(), "%*s %*s %*s %ld", &running) != 1) return false;
  return running - 1 >= kBusy * ::sysconf(_SC_NPROCESSORS_ONLN);
}

/// The number of turns in kSpinning. A turn takes 1 to 50 ns: x86 processors pause for 10 to 140 cycles, others not at
/// all. The shortest of several measurements is free of interruptions. Cost: at most 30 us.
SPDNN_BEFORE_MAIN inline long turns_of_spinning() {
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

}  // namespace spdnn::waiting
