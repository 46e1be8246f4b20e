#pragma once

// Included by files that are compiled for one instruction set; see lanes/lanes.hpp.
#include <cstdint>

namespace spdnn::depthwise {

// The loops of depthwise, compiled once per instruction set (kernels_*.cpp) and chosen at run time.
//
// A tile is what some rows of one channel's output read: rows of the image with their padding, `pitch` numbers from row
// to row. The columns of a row are split by phases of the stride, so that neighbouring outputs read neighbouring
// numbers:
//
//   row of the tile:  | phase 0: columns 0, stride, 2 stride, ... | phase 1: columns 1, stride + 1, ... | ...

/// Copies rows of an image into a tile. Numbers behind the last column of a phase become zeros, up to a whole register.
struct Copy {
  const float* from;
  std::int64_t from_pitch;
  std::int64_t rows;
  std::int64_t columns;  ///< of the image
  float* to;
  std::int64_t to_pitch;
  std::int64_t stride;
  const std::int64_t* places;  ///< in a row of the tile, of each of the image's first `stride` columns
};

/// The sums of one filter on a tile: min(high, max(low, sum)).
struct AddUp {
  const float* tile;
  std::int64_t pitch;
  std::int64_t stride;  ///< rows of the tile from output row to output row
  const float* weights;
  const std::int64_t* places;  ///< of the taps, from the place of an output's first one
  std::int64_t taps;
  std::int64_t square;  ///< rows of a square filter whose taps and outputs follow one another from row to row; else 0
  float bias;
  float low;
  float high;
  float* to;
  std::int64_t rows;
  std::int64_t columns;  ///< rows of the output follow one another
};

/// The functions of one instruction set.
struct Kernels {
  const char* instruction_set;
  std::int32_t lanes;  ///< of a register
  void (*copy)(const Copy&);
  void (*add_up)(const AddUp&);
};

/// Null if the compiler or its target lacks the instruction set.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
/// The instruction set that the whole program is compiled for.
const Kernels* portable_kernels();

}  // namespace spdnn::depthwise
