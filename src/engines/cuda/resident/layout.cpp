#include "engines/cuda/resident/layout.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

#include "core/threads/parallel.hpp"
#include "engines/cuda/resident/bundles.hpp"

namespace spdnn {

namespace {

/// The second slots of a layer's inputs. Within each bank group the inputs with most terms come first; each replica
/// lies in another bank group than its original, at a distance that changes from one line of slots to the next.
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

/// A finished layer, before the layers are joined.
struct LayerPart {
  std::vector<std::uint32_t> chunk_stream;
  std::vector<Offset> starts;
  Offset padded = 0;
  Offset reads = 0;
  Offset skipped = 0;  ///< terms of half chunks that need not be read
  bool split = false;
};

/// The kernel's word for a round; `pieces` receives the chunks of a split one.
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
  const auto warps = make_bundles(plan, layout, number, replicas[number], may_split);
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

/// Joins the layers' chunk streams, warp by warp.
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

  // The last set of replicas belongs to the plan's outputs, which nothing reads.
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
