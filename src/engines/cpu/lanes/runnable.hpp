#pragma once

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include <vector>

namespace spdnn::lanes {

/// Whether this processor runs files that the Makefile compiles for an instruction set (ISA_FLAGS).
inline bool runs_avx512() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vl") != 0;
#else
  return false;
#endif
}
inline bool runs_avx512vnni() {
#if defined(__x86_64__)
  return runs_avx512() && __builtin_cpu_supports("avx512vnni") != 0;
#else
  return false;
#endif
}
inline bool runs_avx2() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("avx2") != 0 && __builtin_cpu_supports("fma") != 0;
#else
  return false;
#endif
}
/// What an x86-64 processor says of itself; zeros where it does not answer, and on other architectures.
struct Cpuid {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
};
inline Cpuid cpuid([[maybe_unused]] unsigned leaf, [[maybe_unused]] unsigned subleaf = 0) {
  Cpuid found;
#if defined(__x86_64__)
  if (__get_cpuid_count(leaf, subleaf, &found.eax, &found.ebx, &found.ecx, &found.edx) == 0) return {};
#endif
  return found;
}

/// Whether it adds up products of bytes in 32 bits. Bit 4 of EAX is AVX-VNNI, which not all compilers have a name for.
inline bool runs_vnni() { return runs_avx512vnni() || (runs_avx2() && (cpuid(7, 1).eax & 0x10U) != 0); }

/// Whether a register of AVX-512 is computed as two halves, as on a Zen 4, which is AMD's family 19h with AVX-512. Then
/// AVX2 has the same peak, and its registers cross fewer bounds of 64 bytes and fill narrow images better, while those
/// of AVX-512 are twice as many, with half as many instructions.
inline bool halves_avx512() {
  static const bool halves = [] {           // asked once, as an answer takes 20 us in a virtual machine
    constexpr unsigned kAuth = 0x68747541;  // of AuthenticAMD
    const unsigned version = cpuid(1).eax;
    const unsigned family = ((version >> 8U) & 0xfU) + ((version >> 20U) & 0xffU);
    return cpuid(0).ebx == kAuth && family == 0x19 && runs_avx512();
  }();
  return halves;
}

/// The same of registers of that many lanes.
inline bool computes_in_halves(std::int64_t lanes) { return lanes == 16 && halves_avx512(); }

/// Multiply-adds of a cycle with registers of that many lanes: two registers.
inline double multiply_adds_per_cycle(std::int64_t lanes) {
  return 2 * static_cast<double>(computes_in_halves(lanes) ? 8 : lanes);
}

/// The loops that this processor runs, those with the longest registers first; never empty. Null where the compiler
/// lacks an instruction set.
template <class Kernels>
std::vector<const Kernels*> runnable(const Kernels* avx512, const Kernels* avx2, const Kernels* portable) {
  std::vector<const Kernels*> found;
  if (runs_avx512() && avx512 != nullptr) found.push_back(avx512);
  if (runs_avx2() && avx2 != nullptr) found.push_back(avx2);
  found.push_back(portable);
  return found;
}

/// Those of them among which predicted times decide: the first, and the next where AVX-512 is computed in halves.
template <class Kernels>
std::vector<const Kernels*> offered(const std::vector<const Kernels*>& runnable) {
  return {runnable.begin(), runnable.begin() + (computes_in_halves(runnable.front()->lanes) ? 2 : 1)};
}

}  // namespace spdnn::lanes
