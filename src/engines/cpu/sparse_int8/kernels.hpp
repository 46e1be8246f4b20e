#pragma once

// Included by files that are compiled for one instruction set, like sparse_conv/kernels.hpp.

#include <cstdint>

#include "engines/cpu/sparse_conv/kernels.hpp"

namespace spdnn::sparse_int8 {

/// Lays adjacent channels together, so that a pixel's numbers of them are 4 bytes.
struct LayTogether {
  const void* from;          ///< bytes
  bool is_signed;            ///< -128 to 127; otherwise 0 to 255
  std::int32_t zero;         ///< is taken off each
  std::int64_t from_stride;  ///< bytes from channel to channel
  std::int32_t channels;     ///< at most Kernels::together; 0 stands for those that are missing
  std::int64_t pixels;
  std::int32_t* to;
};

/// The functions of one instruction set. Sums are exact: the products of channels that lie together are added up in 32
/// bits, as vpdpbusd and vpmaddwd do, while vpmaddubsw would saturate at 16.
struct Kernels {
  sparse_conv::Kernels loops;  ///< on numbers of 4 bytes that are channels together
  std::int32_t together;       ///< channels: 2 of 16 bits; or 4 of 8, pixels from 0 to 255 and weights from -128 to 127
  void (*lay_together)(const LayTogether&);
};

/// Null if the compiler or its target lacks the instruction set.
const Kernels* avx512vnni_kernels();
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
/// The instruction set that the whole program is compiled for.
const Kernels* portable_kernels();

}  // namespace spdnn::sparse_int8
