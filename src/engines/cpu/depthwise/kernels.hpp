#pragma once

// Included by files that are compiled for one instruction set; see lanes/lanes.hpp.
#include <cstdint>

#include "program/sum_function.hpp"

namespace spdnn::depthwise {

// The loops of depthwise, compiled once per instruction set (kernels_*.cpp) and chosen at run time.
//
// A block is as many channels as a register has lanes. A tile is what some rows of a block's output read: rows of the
// image with their padding, channels innermost, so that each pixel is a register, whatever the convolution's shape:
//
//   | pixel (0, 0): channel 0, 1, ... | pixel (0, 1): channel 0, 1, ... | ...

/// Copies pixels of the channels of a block into a tile.
struct Copy {
  const float* from;         ///< the first channel's
  std::int64_t from_stride;  ///< numbers from channel to channel
  std::int64_t channels;     ///< lanes beyond them get the numbers of the last
  std::int64_t pixels;       ///< adjacent ones
  float* to;
  const std::int64_t* places;  ///< in the tile, of each pixel
};

/// A function of the sums of one filter of each channel.
struct AddUp {
  const float* tile;
  const std::int64_t* windows;  ///< in the tile, where that of each pixel begins; at least `lanes` of them
  std::int64_t pixels;          ///< of the output, adjacent ones
  const float* weights;         ///< a register for each tap
  const std::int64_t* taps;     ///< their places, from the beginning of a window
  std::int64_t tap_count;
  std::int64_t square;   ///< rows of a square filter with adjacent taps, 3 or 5, and a stride of 1 or 2; otherwise 0
  std::int64_t stride;   ///< of such a filter, along rows
  std::int64_t pitch;    ///< of the tile's rows, in numbers
  std::int64_t columns;  ///< of the output
  std::int64_t top;      ///< the row of the image that the first result reads first; negative in the padding
  std::int64_t down;     ///< the stride from row to row
  std::int64_t height;   ///< of the image
  const float* bias;     ///< a register
  program::SumFunction function;
  float* to;  ///< the results of the first channel's filter
  std::int64_t to_stride;
  std::int64_t channels;
};

/// A function of the sums of one square filter of one channel, whose pixels are read where they are.
struct Plane {
  const float* from;
  std::int64_t height;
  std::int64_t width;
  // What the first result reads first, in the plane; what lies outside is padding.
  std::int64_t top;
  std::int64_t left;
  std::int64_t size;     ///< of the filter: 3; in AVX-512 with a stride of 2 also 5
  std::int64_t stride;   ///< of both axes, 1 or 2
  const float* weights;  ///< of its taps, `lanes` apart
  const float* bias;
  program::SumFunction function;
  float* to;
  std::int64_t rows;     ///< of the results, which are adjacent
  std::int64_t columns;  ///< likewise
  const float* zeros;    ///< `width` of them
};

/// Adjacent channels, whose weights and biases are adjacent lanes.
struct Planes {
  Plane first;
  std::int64_t channels;
  std::int64_t from_stride;
  std::int64_t to_stride;
};

/// The next channel's plane.
inline void advance(Plane& plane, const Planes& task) {
  plane.from += task.from_stride;
  plane.to += task.to_stride;
  ++plane.weights;
  ++plane.bias;
}

/// Rows of results that are computed at a time in place: with the weights of a filter they fill the registers of AVX2.
constexpr std::int64_t kRowsInPlace = 4;

/// How the results of a plane lie in registers of AVX-512 in place: `columns` of a row in each, or two whole rows; and
/// `down` registers, one below the other, at a time: 4, or 7 if that computes fewer rows.
struct PlaneForm {
  constexpr PlaneForm(std::int64_t size, std::int64_t stride, std::int64_t width, std::int64_t height)
      : together(width <= columns_in(8, size, stride) ? 2 : 1),
        columns(together == 2 ? width : columns_in(16, size, stride)),
        down(together == 2 || (height + 3) / 4 * 4 <= (height + 6) / 7 * 7 ? 4 : 7) {}
  /// The most results of a row whose pixels fit into one register, with a stride of 2 into two; for half a register of
  /// results always one.
  static constexpr std::int64_t columns_in(std::int64_t results, std::int64_t size, std::int64_t stride) {
    const std::int64_t pixels = results == 8 || stride == 1 ? 16 : 32;
    const std::int64_t enough = (pixels - size) / stride + 1;
    return enough < results ? enough : results;
  }
  std::int64_t together;
  std::int64_t columns;
  std::int64_t down;
};

/// The functions of one instruction set.
struct Kernels {
  const char* instruction_set;
  std::int32_t lanes;  ///< of a register
  void (*copy)(const Copy&);
  void (*add_up)(const AddUp&);
  void (*in_place)(const Planes&);
};

/// Null if the compiler or its target lacks the instruction set.
const Kernels* avx512_kernels();
const Kernels* avx2_kernels();
/// The instruction set that the whole program is compiled for.
const Kernels* portable_kernels();

}  // namespace spdnn::depthwise
