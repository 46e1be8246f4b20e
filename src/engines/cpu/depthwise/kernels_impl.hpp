#pragma once

// The loops of kernels.hpp, compiled into each file that includes this for its own instruction set.

#include "engines/cpu/depthwise/kernels.hpp"
#include "engines/cpu/lanes/lanes.hpp"

namespace spdnn::depthwise {
namespace {

using namespace lanes;

void copy_rows(Copy task) {
  const std::int64_t whole = task.columns / kLanes * kLanes;
  const Some rest(task.columns - whole);
  for (std::int64_t row = 0; row < task.rows; ++row) {
    const float* const from = task.from + row * task.from_pitch;
    float* const to = task.to + row * task.to_pitch + task.places[0];
    for (std::int64_t i = 0; i < whole; i += kLanes) store(to + i, load(from + i));
    if (whole < task.columns) store(to + whole, rest.load(from + whole));
  }
}

/// Two phases: whole pairs of registers, and what is left of another pair.
void copy_halves(Copy task) {
  const std::int64_t whole = task.columns / (2 * kLanes) * (2 * kLanes);
  const std::int64_t rest = task.columns - whole;
  const Some first(rest < kLanes ? rest : kLanes);
  const Some second(rest < kLanes ? 0 : rest - kLanes);
  for (std::int64_t row = 0; row < task.rows; ++row) {
    const float* const from = task.from + row * task.from_pitch;
    float* const even = task.to + row * task.to_pitch + task.places[0];
    float* const odd = task.to + row * task.to_pitch + task.places[1];
    const auto split = [=](std::int64_t i, Lanes a, Lanes b) {
      store(even + i / 2, even_of(a, b));
      store(odd + i / 2, odd_of(a, b));
    };
    for (std::int64_t i = 0; i < whole; i += 2 * kLanes) split(i, load(from + i), load(from + i + kLanes));
    if (rest > 0) split(whole, first.load(from + whole), rest > kLanes ? second.load(from + whole + kLanes) : all(0));
  }
}

void copy_phases(Copy task) {
  for (std::int64_t row = 0; row < task.rows; ++row)
    for (std::int64_t phase = 0; phase < task.stride; ++phase) {
      const float* const from = task.from + row * task.from_pitch + phase;
      float* const to = task.to + row * task.to_pitch + task.places[phase];
      for (std::int64_t i = 0; i * task.stride + phase < task.columns; ++i) to[i] = from[i * task.stride];
    }
}

void copy(const Copy& task) {
  if (task.stride == 1)
    copy_rows(task);
  else if (task.stride == 2)
    copy_halves(task);
  else
    copy_phases(task);
}

/// Stores one of the last rows of the output that are shorter than a register. Numbers behind it are overwritten where
/// those belong to later rows; storing some lanes alone takes many times as long.
inline void leave_short(const AddUp& task, std::int64_t row, Lanes result) {
  float* const to = task.to + row * task.columns;
  if ((task.rows - row) * task.columns >= kLanes)
    store(to, result);
  else
    Some(task.columns).store(to, result);
}

/// The sums of kRows rows from `row` on, and of a register of columns from each of columns[0..kVectors). Strip::add()
/// adds the products to them. Not inlined: GCC 12 spills registers in the larger function, which costs 5x5 a quarter.
template <std::int64_t kRows, std::int64_t kVectors, class Strip>
[[gnu::noinline]] void add_up_strip(const AddUp& task, const Strip& strip, std::int64_t row,
                                    const std::int64_t* columns) {
  Lanes sum[kRows][kVectors];
#pragma GCC unroll 5
  for (std::int64_t i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < kVectors; ++v) sum[i][v] = all(task.bias);
  const float* from[kVectors];
#pragma GCC unroll 2
  for (std::int64_t v = 0; v < kVectors; ++v) from[v] = task.tile + row * task.stride * task.pitch + columns[v];
  strip.add(sum, from);
  const Lanes low = all(task.low);
  const Lanes high = all(task.high);
  float* const to = task.to + row * task.columns;
  const bool whole = task.columns >= kLanes || (task.rows - row - kRows + 1) * task.columns >= kLanes;
#pragma GCC unroll 5
  for (std::int64_t i = 0; i < kRows; ++i)
#pragma GCC unroll 2
    for (std::int64_t v = 0; v < kVectors; ++v) {
      const Lanes result = within(sum[i][v], low, high);
      if (whole)
        store(to + i * task.columns + columns[v], result);
      else
        leave_short(task, row + i, result);
    }
}

/// All columns of some rows: two registers at a time. The last registers overlap those before.
template <std::int64_t kRows, class Strip>
inline void add_up_rows(const AddUp& task, const Strip& strip, std::int64_t row) {
  const std::int64_t last = task.columns > kLanes ? task.columns - kLanes : 0;
  for (std::int64_t column = 0; column < task.columns; column += 2 * kLanes) {
    const std::int64_t next = column + kLanes;
    const std::int64_t columns[2] = {column < last ? column : last, next < last ? next : last};
    if (column < last)
      add_up_strip<kRows, 2>(task, strip, row, columns);
    else
      add_up_strip<kRows, 1>(task, strip, row, columns);
  }
}

/// All rows: three to five together, as each row of the tile is read by several of them.
template <class Strip>
inline void add_up_all(const AddUp& task, const Strip& strip) {
  std::int64_t row = 0;
  for (std::int64_t strips = (task.rows + 4) / 5; strips > 0; --strips) {
    const std::int64_t together = (task.rows - row + strips - 1) / strips;
    const std::int64_t end = row + together;
    if (together == 5) add_up_rows<5>(task, strip, row);
    if (together == 4) add_up_rows<4>(task, strip, row);
    if (together == 3) add_up_rows<3>(task, strip, row);
    for (; together < 3 && row < end; ++row) add_up_rows<1>(task, strip, row);
    row = end;
  }
}

/// Any taps, one after another: each is multiplied with numbers that are read for it.
struct AnyTaps {
  template <std::int64_t kRows, std::int64_t kVectors>
  [[gnu::always_inline]] void add(Lanes (&sum)[kRows][kVectors], const float* const (&from)[kVectors]) const {
    for (std::int64_t tap = 0; tap < task.taps; ++tap) {
      const Lanes weight = all(task.weights[tap]);
#pragma GCC unroll 5
      for (std::int64_t i = 0; i < kRows; ++i)
#pragma GCC unroll 2
        for (std::int64_t v = 0; v < kVectors; ++v)
          sum[i][v] = multiply_add(weight, load(from[v] + task.places[tap] + i * task.stride * task.pitch), sum[i][v]);
    }
  }
  const AddUp& task;
};

/// Square filters, where neighbouring rows of the output read neighbouring rows of the tile: what is read is multiplied
/// with all taps that the rows of the output have there. It saves a tenth of the time, but nothing where a stride
/// leaves fewer such taps.
template <std::int64_t kSize>
struct SquareTaps {
  explicit SquareTaps(const AddUp& of) : task(of) {
    for (std::int64_t tap = 0; tap < kSize * kSize; ++tap) weights[tap] = all(of.weights[tap]);
  }
  template <std::int64_t kRows, std::int64_t kVectors>
  [[gnu::always_inline]] void add(Lanes (&sum)[kRows][kVectors], const float* const (&from)[kVectors]) const {
#pragma GCC unroll 16
    for (std::int64_t row = 0; row < kRows - 1 + kSize; ++row)
#pragma GCC unroll 5
      for (std::int64_t column = 0; column < kSize; ++column) {
        Lanes factor[kVectors];
#pragma GCC unroll 2
        for (std::int64_t v = 0; v < kVectors; ++v)
          factor[v] = in_register(load(from[v] + row * task.pitch + task.places[column]));
#pragma GCC unroll 5
        for (std::int64_t i = 0; i < kRows; ++i) {
          const std::int64_t tap_row = row - i;
          if (tap_row < 0 || tap_row >= kSize) continue;
#pragma GCC unroll 2
          for (std::int64_t v = 0; v < kVectors; ++v)
            sum[i][v] = multiply_add(weights[tap_row * kSize + column], factor[v], sum[i][v]);
        }
      }
  }
  const AddUp& task;
  Lanes weights[kSize * kSize];
};

void add_up(const AddUp& task) {
  if (task.square == 3) return add_up_all(task, SquareTaps<3>(task));
  if (task.square == 5) return add_up_all(task, SquareTaps<5>(task));
  add_up_all(task, AnyTaps{task});
}

constexpr Kernels kernels_named(const char* instruction_set) { return {instruction_set, kLanes, copy, add_up}; }

}  // namespace
}  // namespace spdnn::depthwise
