#pragma once

// Included by files that are compiled for one instruction set. It must not use inline functions of the standard
// library, because the linker might then use their copies in the whole program.
#include <cstddef>
#include <cstdint>

#include "program/sum_function.hpp"

namespace spdnn::sparse_conv {

// The loops of sparse_conv, compiled once per instruction set (kernels_*.cpp) and chosen at run time.
//
// A tile of the output is rows x columns pixels of one image. Its sums are a row of `vectors` registers for each
// filter:
//
//   sums[filter] = | pixel row 0 ... junk | pixel row 1 ... junk | ...      `pitch` numbers from row to row
//
// A weight at channel c and tap (r, s) reads as many registers of the input's tile, all at one offset:
//
//   input tile:  channel c: plane of the taps' phase: rows with their padding, `pitch` numbers from row to row
//                                                     ^ offset of (c, r, s): the pixel that the first sum reads
//
// So a row of a filter's matrix is a list of weights with offsets, whatever the kernel, stride, padding and dilation.
// Sums between the pixel rows have no meaning, and are not stored.

// The kernel sparse_int8 has these loops in int8: then the 4 bytes of a number in a tile, and of a weight, hold several
// adjacent channels, which "channel" means below, and a sum is an integer of 32 bits.

/// Of fp32, or the integers of channels that lie together, that of the first channel in the lowest bits.
union Weight {
  float number;
  std::int32_t wholes;
};

/// A weight that is not zero, and where the tile's first pixel finds its factor: bytes from the beginning of the tile.
struct Entry {
  Weight weight;
  std::int32_t offset;
};

/// The weights of one filter in a block of channels; entries of a block follow one another in the order of its rows.
struct Row {
  std::int32_t filter;  ///< counted from the first of the part
  std::int32_t entries;
  float bias;
  float scale;  ///< of sums in int8; a result is sum x scale + bias
};

/// What is done with sums: a function of each, an addition, and a function of what that gives.
struct Ending {
  program::SumFunction function{};
  const float* added = nullptr;  ///< null: nothing; otherwise where results are stored, so are these
  program::SumFunction after_addition{};
};

/// Adds up a block of channels for the filters of a part.
struct AddUp {
  const Row* rows;
  std::int32_t count;
  const Entry* entries;
  const float* tile;
  const float* sums;     ///< of filter 0, so far
  std::int32_t vectors;  ///< registers of a filter's sums
  bool first;            ///< block of channels: sums begin with the bias, in int8 with 0
  bool last;             ///< block of channels: sums in int8 become results
  // Where sums are stored after their ending: over them, or as results.
  float* to;
  std::int64_t to_stride;  ///< from filter to filter
  std::int64_t pixels;     ///< of a filter that are stored; all registers have some
  bool fetch;              ///< where a filter's sums are stored is fetched into L1 during the filter before
  Ending ending;
};

/// Where pixels of an axis come from: pixel i from first + i * step of the image, or from the padding.
struct Axis {
  std::int64_t first;
  std::int64_t step;
  std::int64_t count;   ///< of pixels
  std::int64_t extent;  ///< of the image
};

/// Copies one plane of each channel of a block into the tile.
struct Copy {
  const float* from;
  std::int64_t from_stride;  ///< from channel to channel
  float* to;
  std::int64_t to_stride;
  std::int64_t channels;
  std::int64_t pitch;  ///< of the tile's rows
  Axis rows;
  Axis columns;
};

/// Stores the sums of one filter after their ending.
struct Leave {
  const float* sums;
  std::int64_t pitch;
  float* to;
  std::int64_t to_pitch;
  std::int64_t rows;
  std::int64_t columns;
  Ending ending;
};

/// The functions of one instruction set.
struct Kernels {
  const char* instruction_set;
  std::int32_t lanes;         ///< of a register
  std::int32_t most_vectors;  ///< of a filter's sums: they and a weight fill the registers
  void (*add_up)(const AddUp&);
  void (*copy)(const Copy&);
  void (*leave)(const Leave&);
};

/// Null if the compiler or its target lacks the instruction set.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
/// The instruction set that the whole program is compiled for.
const Kernels* portable_kernels();

}  // namespace spdnn::sparse_conv
