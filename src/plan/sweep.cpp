#include "plan/sweep.hpp"

#include <algorithm>
#include <numeric>

#include "plan/rows.hpp"
#include "plan/twins.hpp"
#include "plan/unused.hpp"

namespace spdnn::planning {

namespace {

/// The rows that lead their group, ascending; `first` as from first_equal_rows for so many rows.
std::vector<Index> leaders(const Array<Index>& first, Index rows) {
  std::vector<Index> result;
  for (Index row = 0; row < rows; ++row)
    if (first.empty() || first[row] == row) result.push_back(row);
  return result;
}

/// Numbers the rows of a candidate layer: each the stored number of its group's leader, kAlwaysZero where that is zero.
/// Lists in `kept` the rows to store.
std::vector<Index> number_rows(Index rows, const Array<Index>& first, const std::vector<std::uint8_t>& zero,
                               std::vector<Index>& kept) {
  std::vector<Index> numbers(rows);
  for (Index row = 0; row < rows; ++row) {
    if (!zero.empty() && zero[row] != 0) {
      numbers[row] = kAlwaysZero;
    } else if (!first.empty() && first[row] != row) {
      numbers[row] = numbers[first[row]];
    } else {
      numbers[row] = static_cast<Index>(kept.size());
      kept.push_back(row);
    }
  }
  return numbers;
}

/// Which given row became which row of the candidate layer (`rows`, ascending), told as its stored number.
Array<Index> compose(const Array<Index>& first, const std::vector<Index>& rows, std::vector<Index> numbers) {
  if (first.empty()) return numbers;
  std::vector<Index> map(first.size());
  for (std::size_t i = 0; i < rows.size(); ++i) map[rows[i]] = numbers[i];
  for (std::size_t row = 0; row < map.size(); ++row) map[row] = map[first[row]];
  return map;
}

/// Replaces a given layer by its stored one, whose inputs are stored as told; returns where its outputs are stored.
Storage reduce_layer(Layer& layer, const Array<Index>& first, const Storage& inputs, const Passes& passes,
                     BiasRule rule, bool first_layer) {
  const Index given = layer.outputs();
  const std::vector<Index> rows = leaders(first, given);
  const Layer candidate = select_rows(layer, rows, inputs);
  // Renaming may have made rows equal that were given with different inputs.
  const Array<Index> first_again = passes.twins && !inputs.identity() ? first_equal_rows(candidate) : Array<Index>{};
  const auto zero = passes.unused ? always_zero(candidate, rule, !first_layer) : std::vector<std::uint8_t>{};

  std::vector<Index> kept;
  std::vector<Index> numbers = number_rows(candidate.outputs(), first_again, zero, kept);
  const Storage unchanged{{}, candidate.inputs()};
  layer = select_rows(candidate, kept, unchanged);
  Storage outputs{{}, layer.outputs()};
  if (outputs.count != given) outputs.map = compose(first, rows, std::move(numbers));
  return outputs;
}

/// Takes the outputs of layer k that layer k + 1 does not read, by its flags, out of both.
void drop_unread(Plan& plan, std::size_t k, const std::vector<std::uint8_t>& read) {
  std::vector<Index> kept;
  std::vector<Index> numbers(read.size(), kNotComputed);
  for (Index i = 0; i < read.size(); ++i) {
    if (read[i] == 0) continue;
    numbers[i] = static_cast<Index>(kept.size());
    kept.push_back(i);
  }
  const Storage renumbered{std::move(numbers), static_cast<Index>(kept.size())};
  Layer& reader = plan.layers[k + 1];
  std::vector<Index> every(reader.outputs());
  std::iota(every.begin(), every.end(), Index{0});
  reader = select_rows(reader, every, renumbered);
  const Storage unchanged{{}, plan.layers[k].inputs()};
  plan.layers[k] = select_rows(plan.layers[k], kept, unchanged);

  Array<Index>& expansion = plan.expansion[k];
  if (expansion.empty()) {
    expansion = renumbered.map;
    return;
  }
  std::vector<Index> map(expansion.size());
  std::transform(expansion.begin(), expansion.end(), map.begin(),
                 [&](Index stored) { return stored == kAlwaysZero ? kAlwaysZero : renumbered.map[stored]; });
  expansion = std::move(map);
}

/// Drops from every layer what the next does not read, last layers first.
void drop_all_unread(Plan& plan) {
  std::vector<std::vector<std::uint8_t>> read(plan.layers.size());
  for_layers(read.size(), [&](std::size_t k) {
    if (k > 0) read[k] = read_inputs(plan.layers[k].weights);
  });
  bool shrunk = false;  // has the reading layer lost rows since its inputs were looked up?
  for (std::size_t k = plan.layers.size(); k-- > 1;) {
    if (shrunk) read[k] = read_inputs(plan.layers[k].weights);
    shrunk = std::find(read[k].begin(), read[k].end(), 0) != read[k].end();
    if (shrunk) drop_unread(plan, k - 1, read[k]);
  }
}

}  // namespace

void reduce_layers(Plan& plan, const TwinFinder& find_twins) {
  std::vector<Array<Index>> groups(plan.layers.size());
  // Rows equal as they are given are equal under any renaming of inputs: these are found without waiting for it.
  if (plan.passes.twins) groups = find_twins ? find_twins(plan.layers) : first_equal_rows(plan.layers);
  Storage inputs{{}, plan.inputs()};
  for (std::size_t k = 0; k < plan.layers.size(); ++k) {
    inputs = reduce_layer(plan.layers[k], groups[k], inputs, plan.passes, plan.bias_rule, k == 0);
    groups[k] = {};
    plan.expansion[k] = inputs.map;
  }
  if (plan.passes.unused) drop_all_unread(plan);
}

}  // namespace spdnn::planning
