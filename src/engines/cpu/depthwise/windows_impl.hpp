#pragma once

// The loop of kernels.hpp that reads planes where they are, in AVX-512, compiled like kernels_impl.hpp.

#include "engines/cpu/depthwise/kernels.hpp"
#include "engines/cpu/lanes/functions.hpp"

namespace spdnn::depthwise {
namespace {

using namespace lanes;

// What a register of results reads of a row of the image is a window of one register, with a stride of 2 of two; lanes
// outside of the image are zero. The pixels of a tap are picked from the window:
//
//   row of the image:      | first: p0 p1 ... p15 | second: p16 ... p31 |
//   tap s, a stride of 2:    p(s) p(s + 2) ... p(s + 28)                     of 15 results, with 3 taps
//
// So there are no ends of rows to be treated apart. Short rows of results are taken two at a time: then `first` is what
// the upper one reads, and `second` is for the lower one.

using Places = __m512i;  // of 32-bit numbers in two registers
inline Places in_turn() { return _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15); }
inline Places plus(Places places, std::int64_t number) {
  return _mm512_add_epi32(places, _mm512_set1_epi32(static_cast<int>(number)));
}
inline Lanes picked(Lanes first, Places places, Lanes second) { return _mm512_permutex2var_ps(first, places, second); }
inline Lanes picked(Lanes x, Places places) { return _mm512_maskz_permutexvar_ps(0xffff, places, x); }

/// With a stride of 1, the places of the first tap's pixels: from 16 on, what is picked is the second register's.
template <std::int64_t kTogether>
inline Places first_places(std::int64_t columns) {
  if (kTogether == 1) return in_turn();
  const __mmask16 lower = _mm512_cmpge_epi32_mask(in_turn(), _mm512_set1_epi32(static_cast<int>(columns)));
  return _mm512_mask_add_epi32(in_turn(), lower, in_turn(), _mm512_set1_epi32(static_cast<int>(kLanes - columns)));
}

/// With a stride of 2 the pixels of the first two taps are dealt by the instruction that more units have, and those of
/// the others picked in the same order: quarters of a register have two results of `first` and two of `second`.
inline Places dealt_places() { return _mm512_setr_epi32(0, 2, 16, 18, 4, 6, 20, 22, 8, 10, 24, 26, 12, 14, 28, 30); }
/// The lanes of results in the order of rows.
template <std::int64_t kTogether>
inline Places dealt_results(std::int64_t columns) {
  if (kTogether == 1) return _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  // Result i of the upper row is lane i + (i & ~1), of the lower one two lanes behind that.
  const Places result = in_turn();
  const __mmask16 lower = _mm512_cmpge_epi32_mask(result, _mm512_set1_epi32(static_cast<int>(columns)));
  const Places of_row = _mm512_mask_sub_epi32(result, lower, result, _mm512_set1_epi32(static_cast<int>(columns)));
  const Places upper = _mm512_add_epi32(of_row, _mm512_and_si512(of_row, _mm512_set1_epi32(~1)));
  return _mm512_mask_add_epi32(upper, lower, upper, _mm512_set1_epi32(2));
}

/// Planes of one shape, with filters of kSize x kSize; see PlaneForm.
template <std::int64_t kSize, std::int64_t kStride, std::int64_t kTogether, std::int64_t kDown>
class Windows {
 public:
  explicit Windows(const Plane& plane) : results_(dealt_results<kTogether>(plane.columns)) {
    const Places first = kStride == 2 ? dealt_places() : first_places<kTogether>(plane.columns);
#pragma GCC unroll 5
    for (std::int64_t s = 0; s < kSize; ++s) places_[s] = plus(first, s);
  }

  void run(const Plane& plane) const {
    constexpr std::int64_t kRows = kDown * kTogether;
    const Taps taps(plane);
    const std::int64_t across = kTogether == 2 ? plane.columns : kColumns;
    for (std::int64_t row = 0; row < plane.rows; row += kRows) {
      const std::int64_t first = begin_of<kRows>(row, plane.rows);
      const Rows rows(plane, first);
      for (std::int64_t column = 0; column < plane.columns; column += across) {
        const std::int64_t begin = kTogether == 2 ? 0 : begin_of<kColumns>(column, plane.columns);
        const std::int64_t left = plane.left + begin * kStride;
        Lanes sum[kDown];
        add_up(rows, taps, left, Some(-left, plane.width - left), Some(-left - kLanes, plane.width - left - kLanes),
               sum);
        apply(plane.function, sum);
        leave(plane, first, begin, sum);
      }
    }
  }

 private:
  static constexpr std::int64_t kColumns = PlaneForm::columns_in(16, kSize, kStride);  ///< of one row in a register
  static constexpr std::int64_t kStep = kStride * kTogether;            ///< rows of the image from register to register
  static constexpr std::int64_t kFirsts = (kDown - 1) * kStep + kSize;  ///< that are read as first registers
  static constexpr std::int64_t kRead = kFirsts + (kTogether - 1) * kStride;
  static constexpr bool kInRegisters = kSize == 3;  ///< weights, which otherwise are too many

  /// A filter of one channel.
  struct Taps {
    explicit Taps(const Plane& plane) : bias(all(*plane.bias)), from(plane.weights) {
      if (kInRegisters)
#pragma GCC unroll 9
        for (std::int64_t tap = 0; tap < kSize * kSize; ++tap) weights[tap] = all(from[tap * kLanes]);
    }
    Lanes weight(std::int64_t tap) const { return kInRegisters ? weights[tap] : all(from[tap * kLanes]); }
    Lanes bias;
    const float* from;
    Lanes weights[kInRegisters ? kSize * kSize : 1];
  };

  /// The rows of the image that kDown registers of results read.
  struct Rows {
    Rows(const Plane& plane, std::int64_t first) {
      const std::int64_t top = plane.top + first * kStride;
#pragma GCC unroll 20
      for (std::int64_t i = 0; i < kRead; ++i)
        from[i] = top + i >= 0 && top + i < plane.height ? plane.from + (top + i) * plane.width : plane.zeros;
    }
    const float* from[kRead];
  };

  /// A register of the results of each of some rows, from the window on that begins at pixel `left`.
  void add_up(const Rows& rows, const Taps& taps, std::int64_t left, Some in_first, Some in_second,
              Lanes (&sum)[kDown]) const {
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < kDown; ++k) sum[k] = taps.bias;
#pragma GCC unroll 20
    for (std::int64_t i = 0; i < kFirsts; ++i) {
      if (i % kStep >= kSize) continue;
      const float* const from = rows.from[i] + left;
      const Lanes first = in_register(in_first.load(from));
      Lanes second = first;
      if constexpr (kTogether == 2)
        second = in_register(in_first.load(rows.from[i + kStride] + left));
      else if constexpr (kStride == 2)
        second = in_register(in_second.load(from + kLanes));
#pragma GCC unroll 5
      for (std::int64_t s = 0; s < kSize; ++s) {
        const Lanes pixels = pixels_of(s, first, second);
#pragma GCC unroll 8
        for (std::int64_t k = 0; k < kDown; ++k) {
          const std::int64_t r = i - k * kStep;
          if (r >= 0 && r < kSize) sum[k] = multiply_add(taps.weight(r * kSize + s), pixels, sum[k]);
        }
      }
    }
  }

  /// The pixels that tap `s` of a row reads.
  Lanes pixels_of(std::int64_t s, Lanes first, Lanes second) const {
    if (kStride == 2 && s == 0) return dealt_quarters<0x88>(first, second);
    if (kStride == 2 && s == 1) return dealt_quarters<0xdd>(first, second);
    if (kStride == 2 || kTogether == 2) return in_register(picked(first, places_[s], second));
    return s == 0 ? first : in_register(picked(first, places_[s]));
  }
  template <int kOf>
  static Lanes dealt_quarters(Lanes a, Lanes b) {
    return in_register(_mm512_maskz_shuffle_ps(0xffff, a, b, kOf));
  }

  void leave(const Plane& plane, std::int64_t first, std::int64_t column, Lanes (&sum)[kDown]) const {
    const std::int64_t columns = plane.columns;
    const std::int64_t rows = plane.rows - first;
    const Some stored(0, kTogether == 2 ? kTogether * columns : columns < kColumns ? columns : kColumns);
    float* to = plane.to + first * columns + column;
#pragma GCC unroll 8
    for (std::int64_t k = 0; k < kDown; ++k, to += kTogether * columns) {
      const Lanes results = kStride == 2 ? picked(sum[k], results_) : sum[k];
      if ((k + 1) * kTogether <= rows)
        stored.store(to, results);
      else if (k * kTogether < rows)
        Some(0, columns).store(to, results);
    }
  }

  Places places_[kSize];  ///< of the pixels of each tap of a row
  Places results_;        ///< in a register of dealt ones
};

template <std::int64_t kSize, std::int64_t kStride, std::int64_t kTogether, std::int64_t kDown>
void run_windows(const Planes& task) {
  const Windows<kSize, kStride, kTogether, kDown> windows(task.first);
  Plane plane = task.first;
  for (std::int64_t channel = 0; channel < task.channels; ++channel, advance(plane, task)) windows.run(plane);
}

template <std::int64_t kSize, std::int64_t kStride>
void run_windows(const Planes& task) {
  const PlaneForm form(kSize, kStride, task.first.columns, task.first.rows);
  if (form.together == 2) return run_windows<kSize, kStride, 2, 4>(task);
  if (form.down == 4) return run_windows<kSize, kStride, 1, 4>(task);
  run_windows<kSize, kStride, 1, 7>(task);
}

void in_place(const Planes& task) {
  if (task.first.size == 5) return run_windows<5, 2>(task);
  task.first.stride == 1 ? run_windows<3, 1>(task) : run_windows<3, 2>(task);
}

}  // namespace
}  // namespace spdnn::depthwise
