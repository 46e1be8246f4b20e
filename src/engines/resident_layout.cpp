#include "engines/resident_layout.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>

#include "core/parallel.hpp"

namespace spdnn {

namespace {

struct Term {
  std::uint16_t slot;
  float weight;
};
using Terms = std::vector<Term>;  ///< of one neuron, padded

/// The second slots of a layer's inputs. Within each colour the inputs that most terms name come first; each copy lies
/// in another colour than its original, by a distance that changes from one line of slots to the next.
std::vector<std::uint16_t> place_copies(const CsrMatrix& weights, const ResidentLayout& layout) {
  const Index colours = layout.shape.colours();
  std::vector<std::uint16_t> copies(layout.width, kNoCopy);
  const Index first = (layout.zero_slot + 2 * colours - 1) / colours * colours;
  if (colours == 1 || layout.slots < first + colours) return copies;
  const Index lines = (layout.slots - first) / colours;

  std::vector<Index> named(weights.cols, 0);
  for (const Index input : weights.indices) ++named[input];
  for (Index colour = 0; colour < colours; ++colour) {
    std::vector<Index> inputs;
    for (Index input = colour; input < weights.cols; input += colours) inputs.push_back(input);
    std::stable_sort(inputs.begin(), inputs.end(), [&](Index a, Index b) { return named[a] > named[b]; });
    for (Index line = 0; line < std::min<std::size_t>(lines, inputs.size()); ++line) {
      const Index shift = 1 + line * 7 % (colours - 1);
      copies[inputs[line]] = narrow<std::uint16_t>(first + line * colours + (colour + shift) % colours);
    }
  }
  return copies;
}

/// Orders the reads of a group so that no two in the same step meet in a colour, unless they read the same slot. In
/// each step the rows furthest behind choose first; a row may be moved to its other copy to make room for another.
class GroupScheduler {
 public:
  GroupScheduler(const CsrMatrix& weights, const ResidentLayout& layout, std::span<const std::uint16_t> copies)
      : weights_(weights), layout_(layout), copies_(copies), colours_(layout.shape.colours()) {}

  /// `padded[i]` becomes the terms of row `rows[i]`.
  void run(std::span<const Index> rows, std::span<Terms> padded) {
    rows_ = rows;
    done_.assign(rows.size(), 0);
    std::vector<Index> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    for (Terms& terms : padded) terms.clear();
    while (true) {
      std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) { return left(a) > left(b); });
      while (!order.empty() && left(order.back()) == 0) order.pop_back();
      if (order.empty()) return;
      holder_.fill(kFree);
      riders_ = 0;
      chosen_.fill(kNoCopy);
      for (const Index row : order) board(row);
      for (Index row = 0; row < rows.size(); ++row) padded[row].push_back(take(row));
    }
  }

  /// A slot of zeros that meets none of the reads of this step.
  std::uint16_t idle_slot() const {
    Index colour = 0;
    while (colour + 1 < colours_ && holder_[colour] != kFree) ++colour;
    return narrow<std::uint16_t>(layout_.zero_slot + (colour + colours_ - layout_.zero_slot % colours_) % colours_);
  }

 private:
  static constexpr Index kFree = 0xffffffff;

  Offset left(Index row) const { return weights_.degree(rows_[row]) - done_[row]; }
  Index input(Index row) const { return weights_.indices[weights_.offsets[rows_[row]] + done_[row]]; }
  std::array<std::uint16_t, 2> slots_of(Index row) const {
    return {static_cast<std::uint16_t>(input(row)), copies_[input(row)]};
  }

  void board(Index row) {
    for (const std::uint16_t slot : slots_of(row)) {
      const Index colour = slot % colours_;
      if (slot == kNoCopy || holder_[colour] == kFree || chosen_[holder_[colour]] != slot) continue;
      chosen_[row] = slot;
      riders_ |= 1U << colour;
      return;
    }
    std::uint32_t seen = riders_;
    find_place(row, seen);
  }

  bool find_place(Index row, std::uint32_t& seen) {
    for (const std::uint16_t slot : slots_of(row)) {
      if (slot == kNoCopy) continue;
      const Index colour = slot % colours_;
      if ((seen >> colour & 1U) != 0) continue;
      seen |= 1U << colour;
      if (holder_[colour] != kFree && !find_place(holder_[colour], seen)) continue;
      holder_[colour] = row;
      chosen_[row] = slot;
      return true;
    }
    return false;
  }

  Term take(Index row) {
    if (chosen_[row] == kNoCopy) return {idle_slot(), 0.0F};
    const Offset entry = weights_.offsets[rows_[row]] + done_[row]++;
    return {chosen_[row], weights_.entry_value(entry)};
  }

  const CsrMatrix& weights_;
  const ResidentLayout& layout_;
  std::span<const std::uint16_t> copies_;
  Index colours_;
  std::span<const Index> rows_;
  std::vector<Offset> done_;
  std::array<Index, 32> holder_{};          ///< by colour: the row that reads it in this step
  std::array<std::uint16_t, 32> chosen_{};  ///< by row: the slot it reads in this step
  std::uint32_t riders_ = 0;                ///< colours whose slot several rows read: their holder stays
};

/// The terms of a row as they are.
void plain_terms(const CsrMatrix& weights, Index row, Terms& terms) {
  terms.clear();
  for (Offset k = weights.offsets[row]; k < weights.offsets[Offset{row} + 1]; ++k)
    terms.push_back({static_cast<std::uint16_t>(weights.indices[k]), weights.entry_value(k)});
}

/// Neurons that a warp handles together, with their padded terms.
struct Bundle {
  std::vector<Index> neurons;
  std::vector<Terms> terms;
  Index chunks = 0;
};

class LayerBuilder {
 public:
  LayerBuilder(const Plan& plan, const ResidentLayout& layout, Index number,
               const std::vector<std::vector<std::uint16_t>>& copies)
      : weights_(plan.layers[number].weights),
        layout_(layout),
        copies_(copies[number]),
        bits_(layout.from_bits && number == 0) {}

  /// By warp: its bundles, one a round.
  std::vector<std::vector<Bundle>> build() const { return assign(bundles()); }

 private:
  std::vector<Bundle> bundles() const {
    std::vector<Index> order(weights_.rows);
    std::iota(order.begin(), order.end(), 0);
    const auto longer = [&](Index a, Index b) { return weights_.degree(a) > weights_.degree(b); };
    if (!std::is_sorted(order.begin(), order.end(), longer)) std::stable_sort(order.begin(), order.end(), longer);

    const Index size = layout_.shape.bundle();
    std::vector<Bundle> all((weights_.rows + size - 1) / size);
    for (std::size_t b = 0; b < all.size(); ++b) {
      // A last bundle that is not full repeats a neuron: the same sum is written to the same slot twice.
      for (std::size_t i = b * size; i < (b + 1) * size; ++i)
        all[b].neurons.push_back(order[std::min<std::size_t>(i, order.size() - 1)]);
      pad(all[b]);
    }
    return all;
  }

  void pad(Bundle& bundle) const {
    const Index group = layout_.shape.colours();
    const std::size_t size = bundle.neurons.size();
    bundle.terms.resize(size);
    GroupScheduler scheduler(weights_, layout_, copies_);
    for (std::size_t first = 0; first < size; first += group) {
      if (bits_ || group == 1)
        for (std::size_t i = first; i < first + group; ++i) plain_terms(weights_, bundle.neurons[i], bundle.terms[i]);
      else
        scheduler.run(std::span(bundle.neurons).subspan(first, group), std::span(bundle.terms).subspan(first, group));
    }
    std::size_t longest = 0;
    for (const Terms& terms : bundle.terms) longest = std::max(longest, terms.size());
    bundle.chunks = narrow<Index>((longest + kChunkTerms - 1) / kChunkTerms);
    const std::size_t length = std::size_t{bundle.chunks} * kChunkTerms;
    for (Terms& terms : bundle.terms) {
      if (terms.size() == length) continue;
      terms.resize(length, Term{narrow<std::uint16_t>(bits_ ? weights_.cols : layout_.zero_slot), 0.0F});
    }
  }

  /// Longest first, each to the warp with the least to do that has a round left.
  std::vector<std::vector<Bundle>> assign(std::vector<Bundle> all) const {
    std::stable_sort(all.begin(), all.end(), [](const Bundle& a, const Bundle& b) { return a.chunks > b.chunks; });
    std::vector<std::vector<Bundle>> warps(layout_.shape.warps());
    std::vector<Offset> load(warps.size(), 0);
    for (Bundle& bundle : all) {
      std::size_t best = warps.size();
      for (std::size_t w = 0; w < warps.size(); ++w)
        if (warps[w].size() < layout_.shape.rounds && (best == warps.size() || load[w] < load[best])) best = w;
      load[best] += bundle.chunks + 1;
      warps[best].push_back(std::move(bundle));
    }
    return warps;
  }

  const CsrMatrix& weights_;
  const ResidentLayout& layout_;
  const std::vector<std::uint16_t>& copies_;
  bool bits_;
};

/// Appends a bundle's chunks to the stream.
void emit(const Bundle& bundle, bool values, std::vector<std::uint32_t>& stream) {
  for (Index chunk = 0; chunk < bundle.chunks; ++chunk) {
    const std::size_t first = std::size_t{chunk} * kChunkTerms;
    for (const Terms& terms : bundle.terms)
      for (std::size_t t = first; t < first + kChunkTerms; t += 2)
        stream.push_back(terms[t].slot | std::uint32_t{terms[t + 1].slot} << 16U);
    if (!values) continue;
    for (std::size_t half = first; half < first + kChunkTerms; half += 4) {
      for (const Terms& terms : bundle.terms) {
        for (std::size_t t = half; t < half + 4; ++t) {
          std::uint32_t bits = 0;
          std::memcpy(&bits, &terms[t].weight, sizeof bits);
          stream.push_back(bits);
        }
      }
    }
  }
}

/// A finished layer, before all are put behind one another.
struct LayerPart {
  std::vector<std::uint32_t> stream;
  std::vector<Offset> starts;
  Offset padded = 0;
};

/// Fills the layer's places in the layout's tables and returns its part of the stream.
LayerPart write_layer(const Plan& plan, Index number, const std::vector<std::vector<std::uint16_t>>& copies,
                      ResidentLayout& layout) {
  const TileShape& shape = layout.shape;
  const auto warps = LayerBuilder(plan, layout, number, copies).build();
  const std::vector<std::uint16_t>& next_copies = copies[number + 1];
  LayerPart part;
  for (Index warp = 0; warp < shape.warps(); ++warp) {
    const std::size_t place = std::size_t{number} * shape.warps() + warp;
    part.starts.push_back(part.stream.size() / 4);
    for (Index round = 0; round < warps[warp].size(); ++round) {
      const Bundle& bundle = warps[warp][round];
      layout.chunks[place * kMaxRounds + round] = narrow<std::uint16_t>(bundle.chunks);
      part.padded += Offset{bundle.chunks} * kChunkTerms * shape.bundle();
      emit(bundle, layout.values, part.stream);
      for (Index i = 0; i < shape.bundle(); ++i) {
        const std::size_t at = (place * shape.rounds + round) * shape.bundle() + i;
        layout.targets[at] = bundle.neurons[i] | std::uint32_t{next_copies[bundle.neurons[i]]} << 16U;
        if (!layout.biases.empty()) layout.biases[at] = static_cast<float>(plan.layers[number].bias[bundle.neurons[i]]);
      }
    }
  }
  return part;
}

void check_fit(const Plan& plan, const TileShape& shape, Index slots, bool from_bits) {
  if (shape.rounds > kMaxRounds) throw std::invalid_argument("a tile shape of too many rounds");
  if (needed_slots(plan, shape, from_bits) > slots || slots >= kNoCopy)
    throw std::invalid_argument("the plan's activations do not fit the slots");
  if (from_bits && !takes_bits(plan)) throw std::invalid_argument("too many inputs for 16 bits");
  for (const Layer& layer : plan.layers)
    if (layer.outputs() > shape.capacity()) throw std::invalid_argument("a layer is wider than the tile shape");
}

}  // namespace

std::size_t ResidentLayout::bytes() const {
  return stream.size() * sizeof(stream[0]) + starts.size() * sizeof(starts[0]) + chunks.size() * sizeof(chunks[0]) +
         targets.size() * sizeof(targets[0]) + biases.size() * sizeof(biases[0]) + copies.size() * sizeof(copies[0]);
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
  Index width = from_bits ? 0 : plan.inputs();
  for (const Layer& layer : plan.layers) width = std::max(width, layer.outputs());
  return width + shape.colours();
}

ResidentLayout lay_out(const Plan& plan, const TileShape& shape, Index slots, bool from_bits) {
  check_fit(plan, shape, slots, from_bits);
  ResidentLayout layout;
  layout.shape = shape;
  layout.from_bits = from_bits;
  layout.zero_slot = needed_slots(plan, shape, from_bits) - shape.colours();
  layout.slots = slots;
  layout.width = plan.max_width();
  bool biases = false;
  for (const Layer& layer : plan.layers) {
    layout.values = layout.values || !layer.weights.uniform();
    biases = biases || !layer.bias.values.empty();
    layout.terms += layer.weights.entries();
  }
  const std::size_t places = std::size_t{plan.depth()} * shape.warps();
  layout.chunks.assign(places * kMaxRounds, kNoBundle);
  layout.targets.assign(places * shape.rounds * shape.bundle(), 0);
  if (biases) layout.biases.assign(layout.targets.size(), 0.0F);

  // The last set of copies is of outputs that nothing reads.
  std::vector<std::vector<std::uint16_t>> copies(std::size_t{plan.depth()} + 1,
                                                 std::vector<std::uint16_t>(layout.width, kNoCopy));
  parallel_for(plan.depth(), [&](std::size_t k) {
    if (k > 0 || !from_bits) copies[k] = place_copies(plan.layers[k].weights, layout);
  });
  std::vector<LayerPart> parts(plan.depth());
  parallel_for(plan.depth(), [&](std::size_t k) { parts[k] = write_layer(plan, narrow<Index>(k), copies, layout); });

  for (LayerPart& part : parts) {
    for (const Offset start : part.starts) layout.starts.push_back(layout.stream.size() / 4 + start);
    layout.stream.insert(layout.stream.end(), part.stream.begin(), part.stream.end());
    layout.padded += part.padded;
    part = {};
  }
  for (const auto& of_layer : copies) layout.copies.insert(layout.copies.end(), of_layer.begin(), of_layer.end());
  return layout;
}

}  // namespace spdnn
