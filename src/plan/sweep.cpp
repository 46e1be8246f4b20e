#include "plan/sweep.hpp"

#include <algorithm>
#include <numeric>

#include "core/threads/parallel_rows.hpp"
#include "plan/passes/unused.hpp"

namespace spdnn::planning {

namespace {

/// Numbers the groups of equal rows in the order of their leaders. The rows are stored under these numbers, unless more
/// of them prove to be equal or zero. `first` is the result of first_equal_rows().
Storage number_groups(const Array<Index>& first, Index rows) {
  if (first.empty()) return {{}, rows};
  std::vector<Index> numbers(rows);
  Index count = 0;
  for (Index row = 0; row < rows; ++row) numbers[row] = first[row] == row ? count++ : numbers[first[row]];
  return {std::move(numbers), count};
}

/// The rows that lead a group, ascending.
std::vector<Index> leaders(const Storage& groups, Index rows) {
  std::vector<Index> result;
  result.reserve(groups.count);
  for (Index row = 0; row < rows; ++row)
    if (groups.identity() || groups.map[row] == result.size()) result.push_back(row);
  return result;
}

/// Numbers the rows of a candidate layer: each row gets the stored number of its group's leader, or kAlwaysZero if the
/// leader is zero. Lists in `kept` the rows to store.
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

/// Where each given row is stored, from the numbers of the candidate layer's rows, one per group.
Array<Index> compose(const Storage& groups, std::vector<Index> numbers) {
  if (groups.identity()) return numbers;
  std::vector<Index> map(groups.map.size());
  std::transform(groups.map.begin(), groups.map.end(), map.begin(), [&](Index group) { return numbers[group]; });
  return map;
}

struct Reduced {
  Layer layer;
  Storage outputs;  ///< of the given layer
};

/// Makes the stored layer of a given one, from the groups of its rows and the storage of its inputs.
Reduced reduce_layer(const Layer& layer, const Storage& groups, const Storage& inputs, const Passes& passes,
                     BiasRule rule, bool first_layer) {
  const Layer candidate = select_rows(layer, leaders(groups, layer.outputs()), inputs);
  // Renaming may make rows equal that have different inputs as given.
  const Array<Index> first_again = passes.twins && !inputs.identity() ? first_equal_rows(candidate) : Array<Index>{};
  const auto zero = passes.unused ? always_zero(candidate, rule, !first_layer) : std::vector<std::uint8_t>{};

  std::vector<Index> kept;
  std::vector<Index> numbers = number_rows(candidate.outputs(), first_again, zero, kept);
  const Storage unchanged{{}, candidate.inputs()};
  const auto count = static_cast<Index>(kept.size());
  return {select_rows(candidate, kept, unchanged),
          count == groups.count ? groups : Storage{compose(groups, std::move(numbers)), count}};
}

/// Removes the outputs of layer k that layer k + 1 does not read, according to the flags, from both layers.
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

/// Drops from every layer the neurons that the next one does not read, beginning with the last layers.
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

/// Rows that are equal as given are equal under any renaming of inputs, so they can be found before it.
std::vector<Storage> Sweep::group_as_given(const std::vector<Layer>& given) const {
  std::vector<Array<Index>> first(given.size());
  if (plan_.passes.twins) first = find_twins_ ? find_twins_(given) : first_equal_rows(given);
  std::vector<Storage> groups(given.size());
  for_layers(groups.size(), [&](std::size_t k) {
    groups[k] = number_groups(first[k], given[k].outputs());
    first[k] = {};
  });
  return groups;
}

void Sweep::take(const std::vector<Layer>& given) {
  if (given.empty()) return;
  const std::vector<Storage> groups = group_as_given(given);
  const bool from_images = plan_.layers.empty();
  if (from_images) inputs_ = {{}, given.front().inputs()};
  std::vector<Reduced> reduced(given.size());
  const auto reduce = [&](std::size_t k, const Storage& inputs) {
    reduced[k] = reduce_layer(given[k], groups[k], inputs, plan_.passes, plan_.bias_rule, from_images && k == 0);
  };
  // Layers depend on one another only if renaming makes more rows equal, or if some rows are zero. So all layers are
  // reduced assuming that neither happens, and those where it does are reduced again.
  const bool guessed = enough_for_all_threads(given.size());
  if (guessed) for_layers(given.size(), [&](std::size_t k) { reduce(k, k == 0 ? inputs_ : groups[k - 1]); });
  for (std::size_t k = 0; k < given.size(); ++k) {
    const Storage& inputs = k == 0 ? inputs_ : reduced[k - 1].outputs;
    if (!guessed || (k > 0 && inputs.count != groups[k - 1].count)) reduce(k, inputs);
  }
  inputs_ = reduced.back().outputs;
  for (Reduced& one : reduced) {
    plan_.expansion[plan_.layers.size()] = std::move(one.outputs.map);
    plan_.layers.push_back(std::move(one.layer));
  }
}

void Sweep::end() {
  if (plan_.passes.unused) drop_all_unread(plan_);
}

}  // namespace spdnn::planning
