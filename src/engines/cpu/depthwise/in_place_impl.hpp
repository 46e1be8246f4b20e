#pragma once

// The loop of kernels.hpp that reads planes where they are, compiled like kernels_impl.hpp; AVX-512 has another one.

#include "engines/cpu/depthwise/kernels.hpp"
#include "engines/cpu/lanes/functions.hpp"

namespace spdnn::depthwise {
namespace {

using namespace lanes;

constexpr std::int64_t kSize = 3;
constexpr std::int64_t kRows = kRowsInPlace;
template <std::int64_t kStride>
constexpr std::int64_t kRead = (kRows - 1) * kStride + kSize;  // rows of the image

/// The rows of the image that kRows of the results read, and where these are stored.
template <std::int64_t kStride>
struct Rows {
  Rows(const Plane& task, std::int64_t first)
      : to(task.to + first * task.columns),
        count(task.rows < kRows ? task.rows : kRows),
        left((task.rows - first) * task.columns) {
    for (std::int64_t i = 0; i < kRead<kStride>; ++i) {
      const std::int64_t row = task.top + first * kStride + i;
      from[i] = row >= 0 && row < task.height ? task.from + row * task.width : task.zeros;
    }
  }
  const float* from[kRead<kStride>];
  float* to;
  std::int64_t count;
  std::int64_t left;  ///< numbers of results from there on
};

/// The pixels that the taps of a row read, each for a register of results; of a stride of 2 as they are dealt.
template <std::int64_t kStride, class Load>
inline void read_taps(const float* from, Lanes (&pixels)[kSize], const Load& load_from) {
  if constexpr (kStride == 1) {
#pragma GCC unroll 3
    for (std::int64_t s = 0; s < kSize; ++s) pixels[s] = in_register(load_from(from, s));
  } else {
    const Lanes begin = in_register(load_from(from, 0));
    const Lanes end = in_register(load_from(from, kLanes));
    pixels[0] = dealt_even(begin, end);
    pixels[1] = dealt_odd(begin, end);
    pixels[2] = dealt_even(load_from(from, 2), load_from(from, 2 + kLanes));
  }
}

struct Weights {
  explicit Weights(const Plane& task) {
#pragma GCC unroll 9
    for (std::int64_t tap = 0; tap < kSize * kSize; ++tap) taps[tap] = all(task.weights[tap * kLanes]);
  }
  Lanes taps[kSize * kSize];
};

/// A register of results in each of some rows.
template <std::int64_t kStride, class Load, class Store>
inline void add_up_columns(const Plane& task, const Rows<kStride>& rows, const Weights& weights, const Load& load_from,
                           const Store& store_to) {
  Lanes sum[kRows];
#pragma GCC unroll 8
  for (std::int64_t k = 0; k < kRows; ++k) sum[k] = all(*task.bias);
#pragma GCC unroll 9
  for (std::int64_t i = 0; i < kRead<kStride>; ++i) {
    Lanes pixels[kSize];
    read_taps<kStride>(rows.from[i], pixels, load_from);
#pragma GCC unroll 3
    for (std::int64_t s = 0; s < kSize; ++s)
#pragma GCC unroll 8
      for (std::int64_t k = 0; k < kRows; ++k) {
        const std::int64_t r = i - k * kStride;
        if (r >= 0 && r < kSize) sum[k] = multiply_add(weights.taps[r * kSize + s], pixels[s], sum[k]);
      }
  }
  apply(task.function, sum);
#pragma GCC unroll 8
  for (std::int64_t k = 0; k < kRows; ++k) {
    if (k >= rows.count) break;
    store_to(k * task.columns, kStride == 1 ? sum[k] : in_order(sum[k]));
  }
}

/// With padding on the left or on the right, or fewer results in a row than a register has: what does not belong to a
/// row is stored again later.
template <std::int64_t kStride>
[[gnu::noinline]] void add_up_edge(const Plane& task, const Rows<kStride>& rows, std::int64_t column) {
  const Weights weights(task);
  const std::int64_t left = task.left + column * kStride;
  const auto load_from = [&](const float* from, std::int64_t shift) {
    const std::int64_t first = left + shift;
    return Some(-first, task.width - first).load(from + first);
  };
  add_up_columns(task, rows, weights, load_from, [&](std::int64_t row, Lanes x) {
    const std::int64_t place = row + column;
    if (place + kLanes <= rows.left)
      store(rows.to + place, x);
    else
      Some(0, rows.left - place).store(rows.to + place, x);
  });
}

template <std::int64_t kStride>
[[gnu::noinline]] void add_up_inside(const Plane& task, const Rows<kStride>& rows, std::int64_t column,
                                     std::int64_t end) {
  const Weights weights(task);
  for (; column < end; column += kLanes) {
    const std::int64_t left = task.left + column * kStride;
    add_up_columns(
        task, rows, weights, [left](const float* from, std::int64_t shift) { return load(from + left + shift); },
        [&](std::int64_t row, Lanes x) { store(rows.to + row + column, x); });
  }
}

template <std::int64_t kStride>
void add_up_plane(const Plane& task) {
  const auto is_inside = [&](std::int64_t column) {
    const std::int64_t left = task.left + column * kStride;
    return left >= 0 && left + kLanes * kStride + kSize - 1 <= task.width && column + kLanes <= task.columns;
  };
  std::int64_t begin = 0;
  while (begin < task.columns && !is_inside(begin)) begin += kLanes;
  std::int64_t end = begin;
  while (is_inside(end)) end += kLanes;
  for (std::int64_t row = 0; row < task.rows; row += kRows) {
    const Rows<kStride> rows(task, begin_of<kRows>(row, task.rows));
    const auto add_up_edges = [&](std::int64_t from, std::int64_t to) {
      for (std::int64_t column = from; column < to; column += kLanes)
        add_up_edge(task, rows, begin_of(column, task.columns));
    };
    add_up_edges(0, begin);
    add_up_inside(task, rows, begin, end);
    add_up_edges(end, task.columns);
  }
}

void in_place(const Planes& task) {
  Plane plane = task.first;
  for (std::int64_t channel = 0; channel < task.channels; ++channel, advance(plane, task))
    plane.stride == 1 ? add_up_plane<1>(plane) : add_up_plane<2>(plane);
}

}  // namespace
}  // namespace spdnn::depthwise
