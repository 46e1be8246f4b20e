#pragma once

// The loops of kernels.hpp, compiled into each file that includes this for its own instruction set.

#include "engines/cpu/depthwise/kernels.hpp"
#if defined(__AVX512F__)
#include "engines/cpu/depthwise/windows_impl.hpp"
#else
#include "engines/cpu/depthwise/in_place_impl.hpp"
#endif
#include "engines/cpu/lanes/functions.hpp"

namespace spdnn::depthwise {
namespace {

using namespace lanes;

void copy(const Copy& given) {
  const Copy task = given;
  const float* channels[kLanes];
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < kLanes; ++c)
    channels[c] = task.from + (c < task.channels ? c : task.channels - 1) * task.from_stride;
  const auto copy_square = [&](std::int64_t at, std::int64_t count, auto load_from) {
    Lanes square[kLanes];
#pragma GCC unroll 16
    for (std::int64_t c = 0; c < kLanes; ++c) square[c] = load_from(channels[c] + at);
    transpose(square);
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes; ++i)
      if (i < count) store(task.to + task.places[at + i], square[i]);
  };
  if (task.pixels < kLanes) {
    const Some some(0, task.pixels);
    copy_square(0, task.pixels, [&](const float* from) { return some.load(from); });
    return;
  }
  for (std::int64_t first = 0; first < task.pixels; first += kLanes)
    copy_square(begin_of(first, task.pixels), kLanes, [](const float* from) { return load(from); });
}

/// Stores the results of a register's pixels in each channel.
template <class Store>
inline void leave(const AddUp& task, std::int64_t at, Lanes (&sum)[kLanes], const Store& store_to) {
  apply(task.function, sum);
  transpose(sum);
  float* to = task.to + at;
#pragma GCC unroll 16
  for (std::int64_t c = 0; c < kLanes; ++c, to += task.to_stride) {
    if (c >= task.channels) break;
    store_to(to, sum[c]);
  }
}

/// A register of pixels, whatever taps there are: each of them is read for each tap.
template <class Store>
inline void add_up_any(const AddUp& task, std::int64_t at, const Store& store_to) {
  const float* windows[kLanes];
  Lanes sum[kLanes];
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < kLanes; ++i) {
    windows[i] = task.tile + task.windows[at + i];
    sum[i] = load(task.bias);
  }
  for (std::int64_t tap = 0; tap < task.tap_count; ++tap) {
    const Lanes weight = in_register(load(task.weights + tap * kLanes));
    const std::int64_t place = task.taps[tap];
#pragma GCC unroll 16
    for (std::int64_t i = 0; i < kLanes; ++i) sum[i] = multiply_add(weight, load(windows[i] + place), sum[i]);
  }
  leave(task, at, sum, store_to);
}

/// The rows of a filter's taps that lie in the image, from `begin` to below `end`; the others meet zeros.
struct Inside {
  Inside(std::int64_t top, std::int64_t height, std::int64_t size)
      : begin(top < 0 ? -top : 0), end(height - top < size ? height - top : size) {}
  std::int64_t begin;
  std::int64_t end;
};

/// A register of pixels of one row, with square filters: a pixel of the image is read once for all taps of a row.
template <std::int64_t kSize, std::int64_t kStride>
inline void add_up_square(const AddUp& task, std::int64_t at, const Inside& inside) {
  Lanes sum[kLanes];
#pragma GCC unroll 16
  for (std::int64_t i = 0; i < kLanes; ++i) sum[i] = load(task.bias);
  const float* row = task.tile + task.windows[at] + inside.begin * task.pitch;
  const float* weights = task.weights + inside.begin * kSize * kLanes;
  for (std::int64_t r = inside.begin; r < inside.end; ++r, row += task.pitch, weights += kSize * kLanes) {
    Lanes weight[kSize];
#pragma GCC unroll 5
    for (std::int64_t s = 0; s < kSize; ++s) weight[s] = in_register(load(weights + s * kLanes));
#pragma GCC unroll 40
    for (std::int64_t column = 0; column < (kLanes - 1) * kStride + kSize; ++column) {
      const Lanes pixel = in_register(load(row + column * kLanes));
#pragma GCC unroll 5
      for (std::int64_t s = 0; s < kSize; ++s)
        if (column >= s && (column - s) % kStride == 0 && (column - s) / kStride < kLanes)
          sum[(column - s) / kStride] = multiply_add(weight[s], pixel, sum[(column - s) / kStride]);
    }
  }
  leave(task, at, sum, [](float* to, Lanes x) { store(to, x); });
}

template <std::int64_t kSize, std::int64_t kStride>
void add_up_rows(const AddUp task) {
  std::int64_t row = 0;
  std::int64_t top = task.top;
  for (; row < task.pixels && task.pixels - row >= kLanes; row += task.columns, top += task.down) {
    const Inside inside(top, task.height, kSize);
    for (std::int64_t first = 0; first < task.columns; first += kLanes)
      add_up_square<kSize, kStride>(task, row + begin_of(first, task.columns), inside);
  }
  if (row < task.pixels) add_up_any(task, task.pixels - kLanes, [](float* to, Lanes x) { store(to, x); });
}

void add_up_all(const AddUp task) {
  for (std::int64_t first = 0; first < task.pixels; first += kLanes)
    add_up_any(task, begin_of(first, task.pixels), [](float* to, Lanes x) { store(to, x); });
}

void add_up(const AddUp& task) {
  if (task.pixels < kLanes) {
    const Some some(0, task.pixels);
    return add_up_any(task, 0, [&](float* to, Lanes x) { some.store(to, x); });
  }
  if (task.square == 3) return task.stride == 1 ? add_up_rows<3, 1>(task) : add_up_rows<3, 2>(task);
  if (task.square == 5) return task.stride == 1 ? add_up_rows<5, 1>(task) : add_up_rows<5, 2>(task);
  add_up_all(task);
}

constexpr Kernels kernels_named(const char* instruction_set) {
  return {instruction_set, kLanes, copy, add_up, in_place};
}

}  // namespace
}  // namespace spdnn::depthwise
