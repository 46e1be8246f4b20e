#include "plan/passes/unused.hpp"

#include <algorithm>
#include <atomic>

#include "core/threads/parallel.hpp"
#include "core/threads/parallel_rows.hpp"

namespace spdnn::planning {

namespace {

bool no_positive_weight(const CsrMatrix& weights, Index row) {
  if (weights.uniform()) return weights.value <= 0;
  const auto values = weights.values.span().subspan(weights.offsets[row], weights.degree(row));
  return std::all_of(values.begin(), values.end(), [](float weight) { return weight <= 0; });
}

bool never_non_zero(const Layer& layer, Index row, BiasRule rule, bool inputs_non_negative) {
  if (layer.weights.degree(row) == 0) return rule == BiasRule::non_zeros || layer.bias[row] <= 0;
  return inputs_non_negative && layer.bias[row] <= 0 && no_positive_weight(layer.weights, row);
}

}  // namespace

std::vector<std::uint8_t> always_zero(const Layer& layer, BiasRule rule, bool inputs_non_negative) {
  std::vector<std::uint8_t> flags(layer.outputs(), 0);
  std::atomic<bool> any = false;
  for_row_ranges(layer.weights, [&](Index begin, Index end) {
    for (Index row = begin; row < end; ++row) {
      if (!never_non_zero(layer, row, rule, inputs_non_negative)) continue;
      flags[row] = 1;
      any.store(true, std::memory_order_relaxed);
    }
  });
  if (!any) flags.clear();
  return flags;
}

std::vector<std::uint8_t> read_inputs(const CsrMatrix& weights) {
  std::vector<std::uint8_t> read(weights.cols, 0);
  const auto all_read = [&] { return std::find(read.begin(), read.end(), 0) == read.end(); };
  // Stretches double in length: a well-connected layer needs only a few times its width.
  const Offset entries = weights.entries();
  for (Offset begin = 0, end = 0; begin < entries && !all_read(); begin = end) {
    end = std::min(entries, std::max<Offset>(2 * begin, 8 * Offset{weights.cols}));
    parallel_ranges(end - begin, useful_pieces(end - begin), [&](auto, auto from, auto to) {
      for (Offset k = begin + from; k < begin + to; ++k) {
        // Storing only changed flags keeps their cache lines shared among the threads.
        const std::atomic_ref flag(read[weights.indices[k]]);
        if (flag.load(std::memory_order_relaxed) == 0) flag.store(1, std::memory_order_relaxed);
      }
    });
  }
  return read;
}

}  // namespace spdnn::planning
