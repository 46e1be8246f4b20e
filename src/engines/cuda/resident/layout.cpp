#include "engines/cuda/resident/layout.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/parallel.hpp"
#include "engines/cuda/resident/rounds.hpp"
#include "engines/cuda/resident/scheduler.hpp"

namespace spdnn {

namespace {

/// The second slots of a layer's inputs. Within each bank group the inputs that most terms name come first; each
/// replica lies in another bank group than its original, by a distance that changes from one line of slots to the next.
std::vector<std::uint16_t> place_replicas(const CsrMatrix& weights, const ResidentLayout& layout) {
  const Index bank_groups = layout.shape.bank_groups();
  std::vector<std::uint16_t> replicas(layout.width, kNoReplica);
  const Index first = (layout.zero_slot + 2 * bank_groups - 1) / bank_groups * bank_groups;
  if (bank_groups == 1 || layout.slots < first + bank_groups) return replicas;
  const Index lines = (layout.slots - first) / bank_groups;

  std::vector<Index> named(weights.cols, 0);
  for (const Index input : weights.indices) ++named[input];
  for (Index bank_group = 0; bank_group < bank_groups; ++bank_group) {
    std::vector<Index> inputs;
    for (Index input = bank_group; input < weights.cols; input += bank_groups) inputs.push_back(input);
    std::stable_sort(inputs.begin(), inputs.end(), [&](Index a, Index b) { return named[a] > named[b]; });
    for (Index line = 0; line < std::min<std::size_t>(lines, inputs.size()); ++line) {
      const Index shift = 1 + line * 7 % (bank_groups - 1);
      replicas[inputs[line]] = narrow<std::uint16_t>(first + line * bank_groups + (bank_group + shift) % bank_groups);
    }
  }
  return replicas;
}

/// The terms of a row as they are.
void plain_terms(const CsrMatrix& weights, Index row, Terms& terms) {
  terms.clear();
  for (Offset k = weights.offsets[row]; k < weights.offsets[Offset{row} + 1]; ++k)
    terms.push_back({static_cast<std::uint16_t>(weights.indices[k]), weights.entry_value(k)});
}

/// Neurons whose reads are kept apart, with their padded terms.
struct Group {
  std::vector<Index> neurons;
  std::vector<Terms> terms;
  Index pairs = 0;   ///< of alternating sums; then the terms are not padded
  Index halves = 0;  ///< half chunks that the longest sum fills
};

/// Neurons that a warp handles together.
struct Bundle {
  std::vector<Index> neurons;
  std::vector<Terms> terms;  ///< equally long
  Index halves = 0;          ///< half chunks in the chunk stream, filled up to whole ones
  Index pairs = 0;           ///< of an alternating bundle

  Index chunks() const { return (halves + 1) / 2; }
};

/// Pairs of terms in the row when it alternates between two inputs and that saves anything; otherwise 0.
Index alternating_pairs(const CsrMatrix& weights, Index row) {
  const auto inputs = weights.row(row);
  if (inputs.size() <= kChunkTerms || inputs.size() % 2 != 0) return 0;
  for (std::size_t k = 2; k < inputs.size(); ++k)
    if (inputs[k] != inputs[k - 2]) return 0;
  return static_cast<Index>(inputs.size() / 2);
}

class LayerBuilder {
 public:
  LayerBuilder(const Plan& plan, const ResidentLayout& layout, Index number,
               const std::vector<std::vector<std::uint16_t>>& replicas, bool may_split)
      : weights_(plan.layers[number].weights),
        layout_(layout),
        replicas_(replicas[number]),
        bits_(layout.from_bits && number == 0),
        may_split_(may_split && !bits_) {}

  /// By warp: the bundles of its rounds; more than one where a round is split.
  std::vector<std::vector<std::vector<Bundle>>> build() const {
    std::vector<Group> all = groups();
    std::vector<Index> halves(all.size());
    std::transform(all.begin(), all.end(), halves.begin(), [](const Group& group) { return group.halves; });
    const bool may_split =
        may_split_ && std::all_of(all.begin(), all.end(), [](const Group& group) { return group.pairs == 0; });
    std::vector<std::vector<std::vector<Bundle>>> warps;
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
  /// Groups of like neurons, in the order in which they are bundled.
  std::vector<Group> groups() const {
    std::vector<Index> pairs(weights_.rows, 0);
    if (!bits_ && !layout_.values)
      for (Index row = 0; row < weights_.rows; ++row) pairs[row] = alternating_pairs(weights_, row);
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

  /// Groups that need more half chunks than the best of equal sums exchange neurons, in the hope of a better match.
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
  const std::vector<std::uint16_t>& replicas_;
  bool bits_;
  bool may_split_;
};

/// Appends a bundle's chunks to the chunk stream.
void emit(const Bundle& bundle, bool values, std::vector<std::uint32_t>& chunk_stream) {
  for (Index chunk = 0; chunk < bundle.chunks(); ++chunk) {
    const std::size_t first = std::size_t{chunk} * kChunkTerms;
    for (const Terms& terms : bundle.terms)
      for (std::size_t t = first; t < first + kChunkTerms; t += 2)
        chunk_stream.push_back(terms[t].slot | std::uint32_t{terms[t + 1].slot} << 16U);
    if (!values) continue;
    for (std::size_t half = first; half < first + kChunkTerms; half += 4) {
      for (const Terms& terms : bundle.terms) {
        for (std::size_t t = half; t < half + 4; ++t) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, &terms[t].weight, sizeof bits);
          chunk_stream.push_back(bits);
        }
      }
    }
  }
}

/// A finished layer, before all are put behind one another.
struct LayerPart {
  std::vector<std::uint32_t> chunk_stream;
  std::vector<Offset> starts;
  Offset padded = 0;
  Offset reads = 0;
  Offset skipped = 0;  ///< terms of half chunks that need not be read
  bool split = false;
};

/// What the kernel is told of a round; `pieces` receives the chunks of a split one.
Index round_word(const std::vector<Bundle>& bundles, std::span<Index> pieces) {
  if (bundles.size() == 1)
    return bundles[0].pairs > 0 ? round_kind::kAlternating | bundles[0].pairs : round_kind::kWhole | bundles[0].halves;
  std::transform(bundles.begin(), bundles.end(), pieces.begin(), [](const Bundle& bundle) { return bundle.chunks(); });
  return round_kind::kSplit;
}

/// Fills the layer's places in the layout's tables and returns its part of the chunk stream.
LayerPart write_layer(const Plan& plan, Index number, const std::vector<std::vector<std::uint16_t>>& replicas,
                      bool may_split, ResidentLayout& layout) {
  const TileShape& shape = layout.shape;
  const auto warps = LayerBuilder(plan, layout, number, replicas, may_split).build();
  const std::vector<std::uint16_t>& next_replicas = replicas[number + 1];
  LayerPart part;
  for (Index warp = 0; warp < shape.warps(); ++warp) {
    const std::size_t place = std::size_t{number} * shape.warps() + warp;
    part.starts.push_back(part.chunk_stream.size() / 4);
    for (Index round = 0; round < warps[warp].size(); ++round) {
      const std::span pieces(layout.splits.data() + place * kMostPieces, kMostPieces);
      layout.rounds[place * kMaxRounds + round] = round_word(warps[warp][round], pieces);
      const bool split = warps[warp][round].size() > 1;
      part.split = part.split || split;
      std::size_t at = (place * shape.rounds + round) * shape.bundle();
      for (const Bundle& bundle : warps[warp][round]) {
        const Offset neurons = bundle.neurons.size();
        part.padded += Offset{bundle.chunks()} * kChunkTerms * neurons;
        const Index skipped = split ? 0 : bundle.halves % 2 * kHalfTerms;
        part.reads += Offset{bundle.pairs > 0 ? 2 : bundle.chunks() * kChunkTerms - skipped} * neurons;
        part.skipped += skipped * neurons;
        emit(bundle, layout.values, part.chunk_stream);
        for (const Index neuron : bundle.neurons) {
          layout.targets[at] = neuron | std::uint32_t{next_replicas[neuron]} << 16U;
          if (!layout.biases.empty()) layout.biases[at] = static_cast<float>(plan.layers[number].bias[neuron]);
          ++at;
        }
      }
    }
  }
  return part;
}

/// Decides whether the layout is uneven. Otherwise the kernel may be a simpler one, and reads half chunks as whole
/// ones.
void decide_unevenness(bool may_be_uneven, std::vector<LayerPart>& parts, ResidentLayout& layout) {
  constexpr Offset kWorthIt = 12;
  Offset reads = 0;
  Offset skipped = 0;
  for (const LayerPart& part : parts) {
    reads += part.reads;
    skipped += part.skipped;
    layout.uneven = layout.uneven || part.split;
  }
  layout.uneven = layout.uneven || (may_be_uneven && skipped * kWorthIt > reads);
  if (layout.uneven) return;
  layout.splits.clear();
  for (LayerPart& part : parts) part.reads += std::exchange(part.skipped, 0);
  for (Index& word : layout.rounds)
    if ((word & round_kind::kMask) == round_kind::kWhole) word += word % 2;
}

/// Puts the layers' streams behind one another, warp by warp.
void join_chunk_streams(const std::vector<LayerPart>& parts, ResidentLayout& layout) {
  const Index warps = layout.shape.warps();
  layout.starts.resize(parts.size() * warps);
  layout.chunk_stream.reserve(
      std::accumulate(parts.begin(), parts.end(), std::size_t{0},
                      [](std::size_t sum, const auto& part) { return sum + part.chunk_stream.size(); }));
  for (Index warp = 0; warp < warps; ++warp) {
    for (std::size_t k = 0; k < parts.size(); ++k) {
      const LayerPart& part = parts[k];
      layout.starts[k * warps + warp] = layout.chunk_stream.size() / 4;
      const auto begin = part.chunk_stream.begin() + static_cast<std::ptrdiff_t>(4 * part.starts[warp]);
      const auto end = warp + 1 < warps
                           ? part.chunk_stream.begin() + static_cast<std::ptrdiff_t>(4 * part.starts[warp + 1])
                           : part.chunk_stream.end();
      layout.chunk_stream.insert(layout.chunk_stream.end(), begin, end);
    }
  }
}

void check_fit(const Plan& plan, const TileShape& shape, Index slots, bool from_bits) {
  if (shape.rounds > kMaxRounds) throw std::invalid_argument("a tile shape of too many rounds");
  if (needed_slots(plan, shape, from_bits) > slots || slots >= kNoReplica)
    throw std::invalid_argument("the plan's activations do not fit the slots");
  if (from_bits && !takes_bits(plan)) throw std::invalid_argument("too many inputs for 16 bits");
  for (const Layer& layer : plan.layers)
    if (layer.outputs() > shape.capacity()) throw std::invalid_argument("a layer is wider than the tile shape");
}

}  // namespace

std::size_t ResidentLayout::bytes() const {
  return chunk_stream.size() * sizeof(chunk_stream[0]) + starts.size() * sizeof(starts[0]) +
         (rounds.size() + splits.size()) * sizeof(Index) + targets.size() * sizeof(targets[0]) +
         biases.size() * sizeof(biases[0]) + replicas.size() * sizeof(replicas[0]);
}

bool takes_bits(const Plan& plan) {
  if (plan.inputs() <= 0xffff) return true;
  if (plan.inputs() > 0x10000) return false;
  const CsrMatrix& weights = plan.layers.front().weights;
  for (Index row = 0; row < weights.rows; ++row)
    if (weights.degree(row) != weights.degree(0) || weights.degree(row) % kChunkTerms != 0) return false;
  return true;
}

Index needed_slots(const Plan& plan, const TileShape& shape, bool from_bits) {
  return (from_bits ? plan.max_outputs() : plan.max_width()) + shape.bank_groups();
}

ResidentLayout lay_out(const Plan& plan, const TileShape& shape, Index slots, bool from_bits, bool may_be_uneven) {
  check_fit(plan, shape, slots, from_bits);
  ResidentLayout layout;
  layout.shape = shape;
  layout.from_bits = from_bits;
  layout.zero_slot = needed_slots(plan, shape, from_bits) - shape.bank_groups();
  layout.slots = slots;
  layout.width = plan.max_width();
  bool biases = false;
  for (const Layer& layer : plan.layers) {
    layout.values = layout.values || !layer.weights.uniform();
    biases = biases || !layer.bias.values.empty();
    layout.terms += layer.weights.entries();
  }
  const std::size_t places = std::size_t{plan.depth()} * shape.warps();
  layout.rounds.assign(places * kMaxRounds, round_kind::kIdle);
  layout.splits.assign(places * kMostPieces, 0);
  layout.targets.assign(places * shape.rounds * shape.bundle(), 0);
  if (biases) layout.biases.assign(layout.targets.size(), 0.0F);

  // The last set of replicas is of outputs that nothing reads.
  std::vector<std::vector<std::uint16_t>> replicas(std::size_t{plan.depth()} + 1,
                                                   std::vector<std::uint16_t>(layout.width, kNoReplica));
  parallel_for(plan.depth(), [&](std::size_t k) {
    if (k > 0 || !from_bits) replicas[k] = place_replicas(plan.layers[k].weights, layout);
  });
  std::vector<LayerPart> parts(plan.depth());
  const bool may_split = may_be_uneven && shape.pieces() > 1;
  parallel_for(plan.depth(),
               [&](std::size_t k) { parts[k] = write_layer(plan, narrow<Index>(k), replicas, may_split, layout); });
  decide_unevenness(may_be_uneven, parts, layout);

  for (const LayerPart& part : parts) {
    layout.padded += part.padded;
    layout.reads.push_back(part.reads + (layout.reads.empty() ? 0 : layout.reads.back()));
  }
  join_chunk_streams(parts, layout);
  for (const auto& of_layer : replicas) layout.replicas.insert(layout.replicas.end(), of_layer.begin(), of_layer.end());
  return layout;
}

}  // namespace spdnn
