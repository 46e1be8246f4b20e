#pragma once

// GCC's vector types for the instruction set of the including file. Here and in the kernels, everything is in an
// unnamed namespace, so that these files share no function.

#include "engines/cpu/tiles/kernels.hpp"

namespace spdnn::tiles {
namespace {

#if defined(__AVX512F__)
constexpr std::size_t kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr std::size_t kVectorBytes = 32;
#else
constexpr std::size_t kVectorBytes = 16;
#endif
constexpr std::size_t kVectors = kLaneBytes / kVectorBytes;  ///< registers per row of lanes

template <class T>
struct VectorTypes {
  typedef T Real __attribute__((vector_size(kVectorBytes), may_alias));  // NOLINT(modernize-use-using)
};
template <class T>
struct IntegersOf;
template <>
struct IntegersOf<float> {
  using Signed = std::int32_t;
  using Unsigned = std::uint32_t;
};
template <>
struct IntegersOf<double> {
  using Signed = std::int64_t;
  using Unsigned = std::uint64_t;
};
template <class T>
using Integer = typename IntegersOf<T>::Signed;
template <class T>
using Real = typename VectorTypes<T>::Real;  ///< a register of activations
template <class T>
using Bits = typename VectorTypes<Integer<T>>::Real;  ///< a register of masks or lane numbers
template <class T>
using Patterns = typename VectorTypes<typename IntegersOf<T>::Unsigned>::Real;  ///< a register of bit patterns

template <class T>
constexpr std::size_t kPerVector = kVectorBytes / sizeof(T);

}  // namespace
}  // namespace spdnn::tiles
