#pragma once

// The loops of kernels.hpp, compiled into each file that includes this for its own instruction set.

#include "engines/cpu/lanes/functions.hpp"
#include "engines/cpu/sparse_conv/kernels.hpp"

namespace spdnn::sparse_conv {
namespace {

using namespace lanes;

/// Additions in flight that keep the multiply-add units busy: their latency times their number.
constexpr std::int32_t kInFlight = 8;

/// An address in one register instead of two, with which a multiply-add is one micro-operation up to the scheduler of
/// Intel's processors: 3 % of the time on a Sapphire Rapids. On a Zen 3 the addition would cost as much.
inline const float* one_register(const float* address) {
#if defined(__AVX512F__)
  asm("" : "+r"(address));
#endif
  return address;
}

/// What is added up: numbers of fp32.
struct Fp32 {
  using Sums = Lanes;
  static Sums first(const Row& row) { return all(row.bias); }
  static Sums zero() { return all(0.F); }
  static Sums load(const float* from) { return lanes::load(from); }
  static Sums weight(const Entry& entry) { return all(entry.weight.number); }
  static Sums add_product(Sums weight, const float* factors, Sums sum) {
    return multiply_add(weight, load(factors), sum);
  }
  static Lanes result(Lanes sum, const Row& /*row*/) { return sum; }
  /// Whether sums are no results before the last block of channels has been added.
  static constexpr bool kBecomeResults = false;
};

/// Of a filter: kVectors sums, kept in kSets registers each so that no addition waits for the one before.
template <class Numbers, std::int32_t kVectors, std::int32_t kSets>
void add_up_vectors(const AddUp task) {
  using Sums = typename Numbers::Sums;
  const Entry* entry = task.entries;
  for (const Row* row = task.rows; row < task.rows + task.count; ++row) {
    const float* const sums = task.sums + std::ptrdiff_t{row->filter} * kVectors * kLanes;
    float* const to = task.to + row->filter * task.to_stride;
    if (task.fetch && row + 1 < task.rows + task.count)
#pragma GCC unroll 28
      for (std::int64_t v = 0; v < kVectors; ++v)
        __builtin_prefetch(task.to + row[1].filter * task.to_stride + v * kLanes, 1);
    Sums sum[kSets][kVectors];
#pragma GCC unroll 28
    for (std::int64_t v = 0; v < kVectors; ++v) {
      sum[0][v] = task.first ? Numbers::first(*row) : Numbers::load(sums + v * kLanes);
      for (std::int32_t set = 1; set < kSets; ++set) sum[set][v] = Numbers::zero();
    }
    const auto add_entry = [&](std::int32_t set) {
      const Sums weight = Numbers::weight(*entry);
      const float* const factors =
          one_register(reinterpret_cast<const float*>(reinterpret_cast<const std::byte*>(task.tile) + entry->offset));
      ++entry;
#pragma GCC unroll 28
      for (std::int64_t v = 0; v < kVectors; ++v)
        sum[set][v] = Numbers::add_product(weight, factors + v * kLanes, sum[set][v]);
    };
    const Entry* const end = entry + row->entries;
    if constexpr (kSets > 1)
      while (end - entry >= kSets) {
#pragma GCC unroll 8
        for (std::int32_t set = 0; set < kSets; ++set) add_entry(set);
      }
    while (entry < end) add_entry(0);
#pragma GCC unroll 28
    for (std::int64_t v = 0; v < kVectors; ++v) {
#pragma GCC unroll 8
      for (std::int32_t set = 1; set < kSets; ++set) sum[0][v] = add(sum[0][v], sum[set][v]);
    }
    if (Numbers::kBecomeResults && !task.last) {
#pragma GCC unroll 28
      for (std::int64_t v = 0; v < kVectors; ++v) store(to + v * kLanes, sum[0][v]);
      continue;
    }
    Lanes results[kVectors];
#pragma GCC unroll 28
    for (std::int64_t v = 0; v < kVectors; ++v) results[v] = Numbers::result(sum[0][v], *row);
    apply(task.ending.function, results);
    constexpr std::int64_t kLast = kVectors - 1;
    if (task.ending.added != nullptr) {
      const float* const added = task.ending.added + row->filter * task.to_stride;
#pragma GCC unroll 28
      for (std::int64_t v = 0; v < kLast; ++v) results[v] = add(results[v], load(added + v * kLanes));
      results[kLast] = add(results[kLast], load_first(added + kLast * kLanes, task.pixels - kLast * kLanes));
      apply(task.ending.after_addition, results);
    }
#pragma GCC unroll 28
    for (std::int64_t v = 0; v < kLast; ++v) store(to + v * kLanes, results[v]);
    store_first(to + kLast * kLanes, results[kLast], task.pixels - kLast * kLanes);
  }
}

template <class Numbers, std::int32_t kVectors = kMostVectors>
void add_up(const AddUp& task) {
  if (task.vectors == kVectors) return add_up_vectors<Numbers, kVectors, (kInFlight + kVectors - 1) / kVectors>(task);
  if constexpr (kVectors > 1) add_up<Numbers, kVectors - 1>(task);
}

void zero(float* to, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = 0;
}

/// The pixels of an axis that lie in the image: from `begin` to below `end`; the others are padding.
struct Inside {
  explicit Inside(const Axis& axis) {
    while (begin < axis.count && axis.first + begin * axis.step < 0) ++begin;
    end = begin;
    const std::int64_t left = axis.extent - (axis.first + begin * axis.step);
    if (left > 0) end += (left + axis.step - 1) / axis.step;
    if (end > axis.count) end = axis.count;
  }
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// Moves numbers through registers: x from place i to change(x, i, load), which `load` reads others with at such
/// places. The last register overlaps the one before. Of fewer numbers than a register has, `writable` more may be
/// overwritten by anything; storing some lanes alone takes many times as long.
template <class Change>
void move(const float* from, float* to, std::int64_t count, std::int64_t writable, const Change& change) {
  if (count >= kLanes) {
    const auto load_all = [](const float* numbers) { return load(numbers); };
    for (std::int64_t i = 0; i + kLanes < count; i += kLanes) store(to + i, change(load(from + i), i, load_all));
    const std::int64_t last = count - kLanes;
    store(to + last, change(load(from + last), last, load_all));
  } else if (count > 0) {
    const Some some(0, count);
    const Lanes moved = change(some.load(from), 0, [&](const float* numbers) { return some.load(numbers); });
    if (count + writable >= kLanes)
      store(to, moved);
    else
      some.store(to, moved);
  }
}

/// Every `step`-th number, of one at least.
void gather(const float* from, float* to, std::int64_t count, std::int64_t step) {
  std::int64_t i = 0;
  if (step != 2) {
    for (; i < count; ++i) to[i] = from[i * step];
    return;
  }
  for (; i + kLanes < count; i += kLanes) store(to + i, even_of(load(from + 2 * i), load(from + 2 * i + kLanes)));
  const std::int64_t left = 2 * (count - i) - 1;
  const Lanes first = Some(0, left).load(from + 2 * i);
  const Lanes second = Some(0, left - kLanes).load(from + 2 * i + kLanes);
  store_first(to + i, even_of(first, second), count - i);
}

void copy(const Copy& task) {
  const Axis& columns = task.columns;
  const Inside inside(columns);
  const std::int64_t count = inside.end - inside.begin;
  for (std::int64_t channel = 0; channel < task.channels; ++channel)
    for (std::int64_t row = 0; row < task.rows.count; ++row) {
      float* const to = task.to + channel * task.to_stride + row * task.pitch;
      const std::int64_t from_row = task.rows.first + row * task.rows.step;
      if (from_row < 0 || from_row >= task.rows.extent || count == 0) {
        zero(to, columns.count);
        continue;
      }
      const float* const from = task.from + channel * task.from_stride + from_row * columns.extent + columns.first +
                                inside.begin * columns.step;
      zero(to, inside.begin);
      float* const pixels = to + inside.begin;
      const std::int64_t later = (task.rows.count - 1 - row) * task.pitch;  // numbers that are written after these
      if (columns.step == 1)
        move(from, pixels, count, later, [](Lanes x, std::int64_t /*place*/, const auto& /*load*/) { return x; });
      else
        gather(from, pixels, count, columns.step);
      zero(to + inside.end, columns.count - inside.end);
    }
}

void leave(const Leave& task) {
  const bool adjacent = task.columns == task.to_pitch;  // rows of the tile
  const Ending ending = task.ending;
  for (std::int64_t row = 0; row < task.rows; ++row) {
    const float* const added = ending.added == nullptr ? nullptr : ending.added + row * task.to_pitch;
    move(task.sums + row * task.pitch, task.to + row * task.to_pitch, task.columns,
         adjacent ? (task.rows - 1 - row) * task.columns : 0, [&](Lanes x, std::int64_t place, const auto& load_from) {
           const Lanes result = applied(ending.function, x);
           if (added == nullptr) return result;
           return applied(ending.after_addition, add(result, load_from(added + place)));
         });
  }
}

constexpr Kernels kernels_named(const char* instruction_set) {
  return {instruction_set, kLanes, kMostVectors, add_up<Fp32>, copy, leave};
}

}  // namespace
}  // namespace spdnn::sparse_conv
