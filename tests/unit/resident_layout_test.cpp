#include "engines/resident_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <random>
#include <set>

#include "engines/work_items.hpp"

namespace spdnn {
namespace {

/// Rows of random length up to `degree` (or all of it), inputs in no order and repeated.
Layer random_layer(Index inputs, Index outputs, Index degree, bool regular, bool values, std::mt19937& random) {
  std::vector<Offset> offsets{0};
  std::vector<Index> indices;
  std::vector<float> weights;
  for (Index row = 0; row < outputs; ++row) {
    const Index terms = regular ? degree : static_cast<Index>(random() % (degree + 1)) * (row % 9 == 0 ? 3 : 1);
    for (Index k = 0; k < terms; ++k) {
      indices.push_back(static_cast<Index>(random() % inputs));
      weights.push_back(static_cast<float>(random() % 1000) / 64 + 1);
    }
    offsets.push_back(indices.size());
  }
  Layer layer;
  layer.weights.rows = outputs;
  layer.weights.cols = inputs;
  layer.weights.offsets = Array<Offset>(std::move(offsets));
  layer.weights.indices = Array<Index>(std::move(indices));
  if (values) layer.weights.values = Array<float>(std::move(weights));
  return layer;
}

Plan random_plan(const std::vector<Index>& widths, Index degree, bool regular, bool values) {
  std::mt19937 random(5);
  Plan plan;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k)
    plan.layers.push_back(random_layer(widths[k], widths[k + 1], degree, regular, values, random));
  return plan;
}

/// Term t of neuron i of a bundle whose chunks begin at `start`.
struct StreamTerm {
  Index slot;
  float weight;
};
StreamTerm stream_term(const ResidentLayout& layout, Offset start, Index neuron, Index t, float common) {
  const std::size_t words = 4 * (start + std::size_t{t} / kChunkTerms * layout.chunk_units());
  const Index within = t % kChunkTerms;
  const std::uint32_t pair = layout.stream.at(words + neuron * 4 + within / 2);
  StreamTerm term{within % 2 == 0 ? pair & 0xffffU : pair >> 16U, common};
  if (layout.values) {
    const std::size_t at = words + (1 + within / 4) * layout.shape.bundle() * 4 + neuron * 4 + within % 4;
    std::memcpy(&term.weight, &layout.stream.at(at), sizeof term.weight);
  }
  return term;
}

/// Reads a layer's program as the kernel does and compares every sum's terms with the plan's.
class LayerReader {
 public:
  LayerReader(const Plan& plan, const ResidentLayout& layout, Index number)
      : weights_(plan.layers[number].weights), layout_(layout), number_(number) {
    bits_ = layout.from_bits && number == 0;
    for (Index input = 0; input < weights_.cols; ++input) {
      names_[input] = input;
      const Index copy = layout.copies[std::size_t{number} * layout.width + input];
      if (copy == kNoCopy) continue;
      EXPECT_TRUE(names_.try_emplace(copy, input).second) << "two inputs in slot " << copy;
      EXPECT_NE(copy % layout.shape.colours(), input % layout.shape.colours());
      EXPECT_LT(copy, layout.slots);
    }
  }

  void check() {
    const TileShape& shape = layout_.shape;
    for (Index warp = 0; warp < shape.warps(); ++warp) {
      const std::size_t place = std::size_t{number_} * shape.warps() + warp;
      Offset at = layout_.starts[place];
      for (Index round = 0; round < shape.rounds; ++round) {
        const Index chunks = layout_.chunks[place * kMaxRounds + round];
        if (chunks == kNoBundle) continue;
        const std::size_t first = (place * shape.rounds + round) * shape.bundle();
        const bool alternating = (chunks & kAlternating) != 0;
        for (Index i = 0; i < shape.bundle(); ++i) check_neuron(layout_.targets[first + i] & 0xffffU, at, i, chunks);
        if (!bits_ && !alternating) check_banks(at, chunks);
        at += Offset{alternating ? 1 : chunks} * layout_.chunk_units();
      }
    }
    EXPECT_EQ(seen_.size(), weights_.rows);
  }

 private:
  bool is_zero(Index slot) const {
    if (bits_) return slot == weights_.cols;
    return slot >= layout_.zero_slot && slot < layout_.zero_slot + layout_.shape.colours();
  }

  void check_neuron(Index neuron, Offset at, Index i, Index chunks) {
    seen_.insert(neuron);
    std::vector<Index> inputs;
    Offset entry = weights_.offsets[neuron];
    const bool alternating = (chunks & kAlternating) != 0;
    const Index terms = alternating ? (chunks & ~Index{kAlternating}) * 2 : chunks * kChunkTerms;
    for (Index t = 0; t < terms; ++t) {
      const StreamTerm term = stream_term(layout_, at, i, alternating ? t % 2 : t, 1.0F);
      if (is_zero(term.slot)) continue;
      inputs.push_back(names_.at(term.slot));
      if (layout_.values) {
        EXPECT_EQ(term.weight, weights_.values[entry++]);
      }
    }
    const auto row = weights_.row(neuron);
    EXPECT_EQ(inputs, std::vector<Index>(row.begin(), row.end())) << "neuron " << neuron;
  }

  void check_banks(Offset at, Index chunks) const {
    const Index colours = layout_.shape.colours();
    for (Index t = 0; t < chunks * kChunkTerms; ++t) {
      for (Index group = 0; group < layout_.shape.bundle(); group += colours) {
        std::map<Index, Index> slot_of;
        for (Index i = group; i < group + colours; ++i) {
          const Index slot = stream_term(layout_, at, i, t, 1.0F).slot;
          const auto [held, fresh] = slot_of.try_emplace(slot % colours, slot);
          if (!is_zero(slot) && !is_zero(held->second)) {
            EXPECT_EQ(held->second, slot) << "bank conflict";
          }
        }
      }
    }
  }

  const CsrMatrix& weights_;
  const ResidentLayout& layout_;
  Index number_;
  bool bits_ = false;
  std::map<Index, Index> names_;
  std::set<Index> seen_;
};

void check_layout(const Plan& plan, const TileShape& shape, Index more_slots, bool from_bits) {
  const ResidentLayout layout = lay_out(plan, shape, needed_slots(plan, shape, from_bits) + more_slots, from_bits);
  for (Index k = 0; k < plan.depth(); ++k) LayerReader(plan, layout, k).check();
}

TEST(ResidentLayout, KeepsEveryTermInOrderAndBanksApart) {
  for (const bool regular : {true, false}) {
    for (const bool values : {true, false}) {
      const Plan plan = random_plan({100, 90, 128, 61}, 12, regular, values);
      for (const TileShape& shape :
           {TileShape{32, 16, 128, 2}, TileShape{32, 8, 128, 4}, TileShape{16, 16, 64, 4}, TileShape{16, 8, 128, 4},
            TileShape{8, 8, 64, 2}, TileShape{4, 4, 64, 4}, TileShape{2, 2, 32, 8}, TileShape{32, 16, 64, 4, 2},
            TileShape{16, 16, 64, 4, 2}, TileShape{16, 8, 64, 4, 2}, TileShape{8, 8, 64, 2, 2},
            TileShape{4, 4, 64, 4, 2}}) {
        for (const Index more_slots : {0, 90})
          for (const bool from_bits : {true, false}) check_layout(plan, shape, more_slots, from_bits);
      }
    }
  }
}

TEST(ResidentLayout, HalvesPutTwiceTheSlotsInOneCycle) {
  constexpr Index kHalf = 2;
  EXPECT_EQ((TileShape{32, 16, 512, 4}.colours()), 1U);
  EXPECT_EQ((TileShape{32, 16, 512, 8, kHalf}.colours()), 2U);
  EXPECT_EQ((TileShape{16, 16, 512, 8, kHalf}.colours()), 4U);
  EXPECT_EQ((TileShape{4, 4, 512, 32, kHalf}.colours()), 16U);
  EXPECT_EQ((TileShape{4, 4, 512, 32, kHalf}.slot_bytes()), (TileShape{2, 2, 512, 32}.slot_bytes()));

  // Rows of as many bytes are laid out in the same way, whatever they hold; rows of half as many need more room.
  const Plan plan = random_plan({300, 256, 200}, 32, true, false);
  const ResidentLayout floats = lay_out(plan, {8, 8, 256, 1}, 700, false);
  EXPECT_EQ(lay_out(plan, {16, 16, 256, 1, kHalf}, 700, false).stream, floats.stream);
  EXPECT_EQ(needed_slots(plan, {8, 8, 256, 1, kHalf}, false), needed_slots(plan, {8, 8, 256, 1}, false) + 4);
}

TEST(ResidentLayout, AlternatingSumsReadTheirTwoInputsOnce) {
  Plan plan = random_plan({64, 64, 64}, 32, true, false);
  std::vector<Index> indices(plan.layers[1].weights.indices.begin(), plan.layers[1].weights.indices.end());
  for (Index row = 0; row < 40; ++row)  // the others stay as they are
    for (Index k = 2; k < 32; ++k) indices[row * 32 + k] = indices[row * 32 + k - 2];
  plan.layers[1].weights.indices = Array<Index>(std::move(indices));
  const TileShape shape{32, 16, 128, 1};
  check_layout(plan, shape, 0, true);
  const ResidentLayout layout = lay_out(plan, shape, needed_slots(plan, shape, true), true);
  EXPECT_EQ(layout.padded, 64 * 32 + 2 * 16 * 8 + 2 * 16 * 32);
}

TEST(ResidentLayout, SecondSlotsSavePadding) {
  const Plan plan = random_plan({1024, 1024}, 32, true, false);
  const TileShape shape{8, 8, 512, 8};
  const Index needed = needed_slots(plan, shape, false);
  const Offset without = lay_out(plan, shape, needed, false).padded;
  const Offset with = lay_out(plan, shape, 2 * needed, false).padded;
  EXPECT_GT(without, plan.edges() * 3 / 2);
  EXPECT_LT(with, plan.edges() * 13 / 10);
}

TEST(ResidentLayout, RefusesWhatDoesNotFit) {
  const Plan plan = random_plan({100, 300}, 4, true, false);
  EXPECT_THROW(lay_out(plan, {32, 16, 128, 1}, 400, false), std::invalid_argument);
  EXPECT_THROW(lay_out(plan, {32, 16, 512, 4}, 200, false), std::invalid_argument);
  EXPECT_NO_THROW(lay_out(plan, {32, 16, 512, 4}, 301, false));
}

TEST(WorkItems, LongestRowsFirst) {
  std::mt19937 random(1);
  const CsrMatrix weights = random_layer(50, 40, 20, false, false, random).weights;
  const WorkList list = rows_by_length(weights);
  ASSERT_EQ(list.items.size(), weights.rows);
  std::set<Index> rows;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    rows.insert(list.items[i].row);
    if (i > 0) {
      EXPECT_GE(weights.degree(list.items[i - 1].row), weights.degree(list.items[i].row));
    }
  }
  EXPECT_EQ(rows.size(), weights.rows);
  EXPECT_TRUE(rows_by_length(random_layer(50, 40, 20, true, false, random).weights).items.empty());
}

TEST(WorkItems, EqualSharesCoverEveryTermOnce) {
  std::mt19937 random(2);
  const CsrMatrix weights = random_layer(50, 90, 40, false, false, random).weights;
  const Index share = 32;
  const WorkList list = equal_shares(weights, share);
  std::vector<Offset> terms(weights.rows, 0);
  std::set<Index> cut;
  for (const CutRow& row : list.cuts) cut.insert(row.row);
  Index pieces = 0;
  for (const WorkItem& item : list.items) {
    if (item.piece != WorkItem::kWhole) {
      EXPECT_EQ(item.piece, pieces++);
      EXPECT_EQ(item.first, terms[item.row]);
      EXPECT_LE(item.terms, share);
      terms[item.row] += item.terms;
      continue;
    }
    Offset size = 0;
    for (Index row = item.row; row < item.row + item.rows; ++row) {
      EXPECT_EQ(cut.count(row), 0U);
      terms[row] += weights.degree(row);
      size += weights.degree(row) + 1;
    }
    EXPECT_LE(size, Offset{share} + 1);
  }
  for (Index row = 0; row < weights.rows; ++row) EXPECT_EQ(terms[row], weights.degree(row));
  EXPECT_EQ(pieces, list.pieces);
}

}  // namespace
}  // namespace spdnn
