#include "engines/cuda/resident/bundles.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "engines/cuda/layers/alternation.hpp"
#include "engines/cuda/resident/rounds.hpp"

namespace spdnn {

namespace {

/// The terms of a row, unpadded.
void plain_terms(const CsrMatrix& weights, Index row, Terms& terms) {
  terms.clear();
  for (Offset k = weights.offsets[row]; k < weights.offsets[Offset{row} + 1]; ++k)
    terms.push_back({static_cast<std::uint16_t>(weights.indices[k]), weights.entry_value(k)});
}

/// Neurons whose reads must not conflict, with their padded terms.
struct Group {
  std::vector<Index> neurons;
  std::vector<Terms> terms;
  Index pairs = 0;   ///< of alternating sums; then the terms are not padded
  Index halves = 0;  ///< half chunks that the longest sum fills
};

/// Pairs of terms in the row if it alternates between two inputs and this saves reads; otherwise 0.
Index pairs_of_row(const CsrMatrix& weights, Index row) {
  const auto inputs = weights.row(row);
  if (inputs.size() <= kChunkTerms || !cuda::alternates(inputs)) return 0;
  return static_cast<Index>(inputs.size() / 2);
}

class LayerBuilder {
 public:
  LayerBuilder(const Plan& plan, const ResidentLayout& layout, Index number, std::span<const std::uint16_t> replicas,
               bool may_split)
      : weights_(plan.layers[number].weights),
        layout_(layout),
        replicas_(replicas),
        bits_(layout.from_bits && number == 0),
        may_split_(may_split && !bits_) {}

  std::vector<WarpBundles> build() const {
    std::vector<Group> all = groups();
    std::vector<Index> halves(all.size());
    std::transform(all.begin(), all.end(), halves.begin(), [](const Group& group) { return group.halves; });
    const bool may_split =
        may_split_ && std::all_of(all.begin(), all.end(), [](const Group& group) { return group.pairs == 0; });
    std::vector<WarpBundles> warps;
    for (const WarpRounds& rounds : assign_rounds(halves, layout_.shape, may_split)) {
      auto& warp = warps.emplace_back();
      for (const Round& round : rounds) {
        auto& bundles = warp.emplace_back();
        const Index groups_each = layout_.shape.bundle() / layout_.shape.bank_groups() / narrow<Index>(round.size());
        for (const GroupRange& range : round) bundles.push_back(make_bundle(all, range, groups_each));
      }
    }
    return warps;
  }

 private:
  /// Groups of similar neurons, in the order of bundling.
  std::vector<Group> groups() const {
    std::vector<Index> pairs(weights_.rows, 0);
    if (!bits_ && !layout_.values)
      for (Index row = 0; row < weights_.rows; ++row) pairs[row] = pairs_of_row(weights_, row);
    std::vector<Index> order(weights_.rows);
    std::iota(order.begin(), order.end(), 0);
    const auto first = [&](Index a, Index b) {
      return std::pair(pairs[a], weights_.degree(a)) > std::pair(pairs[b], weights_.degree(b));
    };
    if (!std::is_sorted(order.begin(), order.end(), first)) std::stable_sort(order.begin(), order.end(), first);

    const Index size = layout_.shape.bank_groups();
    std::vector<Group> all((weights_.rows + size - 1) / size);
    for (std::size_t g = 0; g < all.size(); ++g) {
      // A last group that is not full repeats a neuron: the same sum is written to the same slot twice.
      for (std::size_t i = g * size; i < (g + 1) * size; ++i)
        all[g].neurons.push_back(order[std::min<std::size_t>(i, order.size() - 1)]);
      all[g].pairs = pairs[all[g].neurons.front()];
      if (all[g].pairs != pairs[all[g].neurons.back()]) all[g].pairs = 0;
      pad(all[g]);
    }
    regroup(all);
    std::stable_sort(all.begin(), all.end(), [](const Group& a, const Group& b) {
      return std::pair(a.pairs, a.halves) > std::pair(b.pairs, b.halves);
    });
    return all;
  }

  void pad(Group& group) const {
    group.terms.resize(group.neurons.size());
    if (bits_ || group.neurons.size() == 1 || group.pairs > 0)
      for (std::size_t i = 0; i < group.neurons.size(); ++i) plain_terms(weights_, group.neurons[i], group.terms[i]);
    else
      GroupScheduler(weights_, layout_, replicas_).run(group.neurons, group.terms);
    std::size_t longest = 0;
    for (const Terms& terms : group.terms) longest = std::max(longest, terms.size());
    group.halves = group.pairs > 0 ? 2 : narrow<Index>((longest + kHalfTerms - 1) / kHalfTerms);
  }

  /// Groups that need more half chunks than the best with sums of the same length exchange neurons, which may reduce
  /// padding.
  void regroup(std::vector<Group>& all) const {
    if (layout_.shape.bank_groups() == 1 || bits_) return;
    std::map<Offset, std::vector<Group*>> by_degree;
    for (Group& group : all) {
      const Offset degree = weights_.degree(group.neurons.front());
      const auto equal = [&](Index neuron) { return weights_.degree(neuron) == degree; };
      if (group.pairs == 0 && std::all_of(group.neurons.begin(), group.neurons.end(), equal))
        by_degree[degree].push_back(&group);
    }
    for (auto& [degree, groups] : by_degree) exchange(std::move(groups));
  }

  void exchange(std::vector<Group*> groups) const {
    constexpr std::size_t kAttempts = 6;
    const auto fewer = [](const Group* a, const Group* b) { return a->halves < b->halves; };
    const Index best = (*std::min_element(groups.begin(), groups.end(), fewer))->halves;
    for (std::size_t attempt = 1; attempt <= kAttempts; ++attempt) {
      std::erase_if(groups, [&](const Group* group) { return group->halves <= best; });
      if (groups.size() < 2) return;
      std::vector<std::vector<Index>> exchanged(groups.size());
      for (std::size_t g = 0; g < groups.size(); ++g)
        for (std::size_t i = 0; i < groups[g]->neurons.size(); ++i)
          exchanged[(g + i * attempt) % groups.size()].push_back(groups[g]->neurons[i]);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        groups[g]->neurons = std::move(exchanged[g]);
        pad(*groups[g]);
      }
    }
  }

  Bundle make_bundle(std::vector<Group>& all, GroupRange range, Index groups_each) const {
    Bundle bundle;
    const bool alternating = all[range.first].pairs > 0 && all[range.first].pairs == all[range.last - 1].pairs;
    for (Index g = range.first; g < range.last; ++g) {
      if (all[g].pairs > 0 && !alternating) {
        all[g].pairs = 0;
        pad(all[g]);
      }
      bundle.halves = std::max(bundle.halves, all[g].halves);
    }
    bundle.pairs = alternating ? all[range.first].pairs : 0;
    for (Index i = 0; i < groups_each; ++i) join(all[std::min(range.first + i, range.last - 1)], bundle);
    return bundle;
  }

  /// Appends a group, or repeats the last one in a bundle that is not full.
  void join(const Group& group, Bundle& bundle) const {
    const std::size_t length = std::size_t{bundle.chunks()} * kChunkTerms;
    for (std::size_t i = 0; i < group.neurons.size(); ++i) {
      bundle.neurons.push_back(group.neurons[i]);
      bundle.terms.push_back(group.terms[i]);
      if (bundle.terms.back().size() >= length) continue;
      bundle.terms.back().resize(length, Term{narrow<std::uint16_t>(bits_ ? weights_.cols : layout_.zero_slot), 0.0F});
    }
  }

  const CsrMatrix& weights_;
  const ResidentLayout& layout_;
  std::span<const std::uint16_t> replicas_;
  bool bits_;
  bool may_split_;
};

}  // namespace

std::vector<WarpBundles> make_bundles(const Plan& plan, const ResidentLayout& layout, Index number,
                                      std::span<const std::uint16_t> replicas, bool may_split) {
  return LayerBuilder(plan, layout, number, replicas, may_split).build();
}

}  // namespace spdnn
