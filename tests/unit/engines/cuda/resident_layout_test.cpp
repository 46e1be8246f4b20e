#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>
#include <random>
#include <set>

#include "engines/cuda/resident/layout.hpp"
#include "engines/cuda/resident/rounds.hpp"
#include "support/matrix_builder.hpp"
#include "support/random_layer.hpp"
#include "support/sampled.hpp"

namespace spdnn {
namespace {

using testing::random_layer;

Plan random_plan(const std::vector<Index>& widths, Index degree, bool regular, bool values) {
  std::mt19937 random(5);
  Plan plan;
  for (std::size_t k = 0; k + 1 < widths.size(); ++k)
    plan.layers.push_back(random_layer(widths[k], widths[k + 1], degree, regular, values, random));
  return plan;
}

/// Term t of neuron i of `neurons` whose chunks begin at `start`.
struct StreamTerm {
  Index slot;
  float weight;
};
StreamTerm stream_term(const ResidentLayout& layout, Offset start, Index neurons, Index neuron, Index t, float common) {
  const Offset units = neurons * Offset{layout.values ? 3U : 1U};
  const std::size_t words = 4 * (start + t / kChunkTerms * units);
  const Index within = t % kChunkTerms;
  const std::uint32_t pair = layout.chunk_stream.at(words + neuron * 4 + within / 2);
  StreamTerm term{within % 2 == 0 ? pair & 0xffffU : pair >> 16U, common};
  if (layout.values) {
    const std::size_t at = words + (1 + within / 4) * neurons * 4 + neuron * 4 + within % 4;
    std::memcpy(&term.weight, &layout.chunk_stream.at(at), sizeof term.weight);
  }
  return term;
}

/// Reads a layer's layout as the kernel does and compares every sum's terms with the plan's.
class LayerReader {
 public:
  LayerReader(const Plan& plan, const ResidentLayout& layout, Index number)
      : weights_(plan.layers[number].weights), layout_(layout), number_(number) {
    bits_ = layout.from_bits && number == 0;
    for (Index input = 0; input < weights_.cols; ++input) {
      names_[input] = input;
      const Index replica = layout.replicas[std::size_t{number} * layout.width + input];
      if (replica == kNoReplica) continue;
      EXPECT_TRUE(names_.try_emplace(replica, input).second) << "two inputs in slot " << replica;
      EXPECT_NE(replica % layout.shape.bank_groups(), input % layout.shape.bank_groups());
      EXPECT_LT(replica, layout.slots);
    }
  }

  void check() {
    const TileShape& shape = layout_.shape;
    for (Index warp = 0; warp < shape.warps(); ++warp) {
      const std::size_t place = std::size_t{number_} * shape.warps() + warp;
      Offset at = layout_.starts[place];
      for (Index round = 0; round < shape.rounds; ++round) {
        const Index word = layout_.rounds[place * kMaxRounds + round];
        const Index count = word & ~round_kind::kMask;
        const std::uint32_t* targets = layout_.targets.data() + (place * shape.rounds + round) * shape.bundle();
        switch (word & round_kind::kMask) {
          case round_kind::kWhole:
            at += check_bundle(targets, at, shape.bundle(), count);
            break;
          case round_kind::kAlternating:
            at += check_alternating(targets, at, count);
            break;
          case round_kind::kSplit:
            EXPECT_EQ(round, 0U);
            EXPECT_TRUE(layout_.uneven);
            for (Index piece = 0; piece < shape.pieces(); ++piece) {
              const Index neurons = shape.bundle() / shape.pieces();
              at +=
                  check_bundle(targets + piece * neurons, at, neurons, 2 * layout_.splits[place * kMostPieces + piece]);
            }
            break;
          default:
            break;
        }
      }
      const std::size_t next = place + shape.warps();
      if (next < layout_.starts.size()) {
        EXPECT_EQ(layout_.starts[next], at) << "the next layer's chunks do not follow";
      }
    }
    EXPECT_EQ(seen_.size(), weights_.rows);
  }
  Offset reads() const { return reads_; }

 private:
  bool is_zero(Index slot) const {
    if (bits_) return slot == weights_.cols;
    return slot >= layout_.zero_slot && slot < layout_.zero_slot + layout_.shape.bank_groups();
  }

  /// Returns the length of its chunks in the chunk stream.
  Offset check_bundle(const std::uint32_t* targets, Offset at, Index neurons, Index halves) {
    EXPECT_TRUE(layout_.uneven || halves % 2 == 0);
    reads_ += Offset{halves} * kHalfTerms * neurons;
    for (Index i = 0; i < neurons; ++i) {
      std::vector<StreamTerm> terms;
      for (Index t = 0; t < halves * kHalfTerms; ++t) terms.push_back(stream_term(layout_, at, neurons, i, t, 1.0F));
      check_neuron(targets[i] & 0xffffU, terms);
    }
    if (!bits_) check_banks(at, neurons, halves);
    return (halves + 1) / 2 * Offset{neurons} * (layout_.values ? 3 : 1);
  }

  Offset check_alternating(const std::uint32_t* targets, Offset at, Index pairs) {
    const Index neurons = layout_.shape.bundle();
    reads_ += Offset{2} * neurons;
    for (Index i = 0; i < neurons; ++i) {
      std::vector<StreamTerm> terms;
      for (Index t = 0; t < 2 * pairs; ++t) terms.push_back(stream_term(layout_, at, neurons, i, t % 2, 1.0F));
      check_neuron(targets[i] & 0xffffU, terms);
    }
    return layout_.chunk_units();
  }

  void check_neuron(Index neuron, const std::vector<StreamTerm>& terms) {
    seen_.insert(neuron);
    std::vector<Index> inputs;
    Offset entry = weights_.offsets[neuron];
    for (const StreamTerm& term : terms) {
      if (is_zero(term.slot)) continue;
      inputs.push_back(names_.at(term.slot));
      if (layout_.values) {
        EXPECT_EQ(term.weight, weights_.values[entry++]);
      }
    }
    const auto row = weights_.row(neuron);
    EXPECT_EQ(inputs, std::vector<Index>(row.begin(), row.end())) << "neuron " << neuron;
  }

  void check_banks(Offset at, Index neurons, Index halves) const {
    const Index bank_groups = layout_.shape.bank_groups();
    for (Index t = 0; t < halves * kHalfTerms; ++t) {
      for (Index group = 0; group < neurons; group += bank_groups) {
        std::map<Index, Index> slot_of;
        for (Index i = group; i < group + bank_groups; ++i) {
          const Index slot = stream_term(layout_, at, neurons, i, t, 1.0F).slot;
          const auto [held, fresh] = slot_of.try_emplace(slot % bank_groups, slot);
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
  Offset reads_ = 0;
};

void check_layout(const Plan& plan, const TileShape& shape, Index more_slots, bool from_bits, bool uneven) {
  const Index slots = needed_slots(plan, shape, from_bits) + more_slots;
  const ResidentLayout layout = lay_out(plan, shape, slots, from_bits, uneven);
  Offset reads = 0;
  for (Index k = 0; k < plan.depth(); ++k) {
    LayerReader reader(plan, layout, k);
    reader.check();
    reads += reader.reads();
    EXPECT_EQ(layout.reads.at(k), reads);
  }
}

TEST(ResidentLayout, KeepsEveryTermInOrderAndBanksApart) {
  std::size_t number = 0;
  for (const bool regular : {true, false}) {
    for (const bool values : {true, false}) {
      const Plan plan = random_plan({100, 90, 128, 61}, 12, regular, values);
      ++number;  // a sample has others of each plan
      for (const TileShape& shape :
           {TileShape{32, 16, 128, 2}, TileShape{32, 8, 128, 4}, TileShape{16, 16, 64, 4}, TileShape{16, 8, 128, 4},
            TileShape{8, 8, 64, 2}, TileShape{4, 4, 64, 4}, TileShape{2, 2, 32, 8}, TileShape{32, 16, 64, 4, 2},
            TileShape{16, 16, 64, 4, 2}, TileShape{16, 8, 64, 4, 2}, TileShape{8, 8, 64, 2, 2},
            TileShape{4, 4, 64, 4, 2}}) {
        for (const Index more_slots : {0, 90})
          for (const bool from_bits : {true, false})
            for (const bool uneven : {true, false})
              if (number++ % testing::sampled(3U, 1U) == 0) check_layout(plan, shape, more_slots, from_bits, uneven);
      }
    }
  }
}

TEST(ResidentLayout, HalvesPutTwiceTheSlotsInOneCycle) {
  constexpr Index kHalf = 2;
  EXPECT_EQ((TileShape{32, 16, 512, 4}.bank_groups()), 1U);
  EXPECT_EQ((TileShape{32, 16, 512, 8, kHalf}.bank_groups()), 2U);
  EXPECT_EQ((TileShape{16, 16, 512, 8, kHalf}.bank_groups()), 4U);
  EXPECT_EQ((TileShape{4, 4, 512, 32, kHalf}.bank_groups()), 16U);
  EXPECT_EQ((TileShape{4, 4, 512, 32, kHalf}.slot_bytes()), (TileShape{2, 2, 512, 32}.slot_bytes()));

  // Rows of as many bytes are laid out in the same way, whatever they hold; rows of half as many need more room.
  const Plan plan = random_plan({300, 256, 200}, 32, true, false);
  const ResidentLayout floats = lay_out(plan, {8, 8, 256, 1}, 700, false, false);
  EXPECT_EQ(lay_out(plan, {16, 16, 256, 1, kHalf}, 700, false, false).chunk_stream, floats.chunk_stream);
  EXPECT_EQ(needed_slots(plan, {8, 8, 256, 1, kHalf}, false), needed_slots(plan, {8, 8, 256, 1}, false) + 4);
}

TEST(ResidentLayout, AlternatingSumsReadTheirTwoInputsOnce) {
  Plan plan = random_plan({64, 64, 64}, 32, true, false);
  std::vector<Index> indices(plan.layers[1].weights.indices.begin(), plan.layers[1].weights.indices.end());
  for (Index row = 0; row < 40; ++row)  // the others stay as they are
    for (Index k = 2; k < 32; ++k) indices[row * 32 + k] = indices[row * 32 + k - 2];
  plan.layers[1].weights.indices = Array<Index>(std::move(indices));
  const TileShape shape{32, 16, 128, 1};
  check_layout(plan, shape, 0, true, true);
  const ResidentLayout layout = lay_out(plan, shape, needed_slots(plan, shape, true), true, true);
  EXPECT_EQ(layout.padded, 64 * 32 + 2 * 16 * 8 + 2 * 16 * 32);
}

TEST(ResidentLayout, SecondSlotsSavePadding) {
  const Plan plan = random_plan({1024, 1024}, 32, true, false);
  const TileShape shape{8, 8, 512, 8};
  const Index needed = needed_slots(plan, shape, false);
  const Offset without = lay_out(plan, shape, needed, false, false).padded;
  const Offset with = lay_out(plan, shape, 2 * needed, false, false).padded;
  EXPECT_GT(without, plan.edges() * 3 / 2);
  EXPECT_LT(with, plan.edges() * 13 / 10);
}

/// One neuron reads everything, some a lot, most a little.
TEST(ResidentLayout, LongSumsAreSplitOffSoThatWarpsFinishTogether) {
  std::mt19937 random(3);
  Plan plan;
  MatrixBuilder builder(512);
  for (Index row = 0; row < 512; ++row) {
    const Index degree = row == 77 ? 512 : row % 64 == 5 ? 120 : 10 + row % 5;
    for (Index k = 0; k < degree; ++k) builder.add(static_cast<Index>(random() % 512));
    builder.end_row();
  }
  plan.layers.push_back({builder.uniform(), {}});
  for (const TileShape& shape : {TileShape{32, 16, 512, 2}, TileShape{16, 8, 512, 2}, TileShape{8, 8, 512, 1},
                                 TileShape{4, 4, 512, 2}, TileShape{2, 2, 512, 2}}) {
    SCOPED_TRACE(shape.images);
    check_layout(plan, shape, 600, false, true);
    const Index slots = needed_slots(plan, shape, false) + 600;
    const ResidentLayout uneven = lay_out(plan, shape, slots, false, true);
    const ResidentLayout even = lay_out(plan, shape, slots, false, false);
    EXPECT_TRUE(uneven.uneven);
    EXPECT_FALSE(even.uneven);
    const auto is_split = [](Index word) { return (word & round_kind::kMask) == round_kind::kSplit; };
    EXPECT_TRUE(std::any_of(uneven.rounds.begin(), uneven.rounds.end(), is_split));
    EXPECT_TRUE(std::none_of(even.rounds.begin(), even.rounds.end(), is_split));
    EXPECT_LT(uneven.reads.back(), even.reads.back());
  }
}

/// Degrees by a power law: the longest sum alone is more than a warp's share.
TEST(ResidentLayout, SchedulersGetLikeLoads) {
  constexpr Index kSchedulers = 4;
  const TileShape shape{32, 16, 512, 4};
  std::vector<Index> halves;
  for (Index rank = 1; rank <= shape.capacity(); ++rank)
    halves.push_back(static_cast<Index>(std::ceil(130 / std::sqrt(rank))));
  const std::vector<WarpRounds> warps = assign_rounds(halves, shape, true);
  ASSERT_EQ(warps.size(), shape.warps());
  std::array<Index, kSchedulers> loads{};
  for (Index warp = 0; warp < warps.size(); ++warp)
    for (const Round& round : warps[warp])
      for (const GroupRange& range : round)
        loads.at(warp % kSchedulers) += halves[range.first] * shape.bundle() / narrow<Index>(round.size());
  const Index most = *std::max_element(loads.begin(), loads.end());
  const Index all = std::accumulate(loads.begin(), loads.end(), Index{0});
  EXPECT_LT(most * kSchedulers * 10, all * 11);
}

TEST(ResidentLayout, RefusesWhatDoesNotFit) {
  const Plan plan = random_plan({100, 300}, 4, true, false);
  EXPECT_THROW(lay_out(plan, {32, 16, 128, 1}, 400, false, true), std::invalid_argument);
  EXPECT_THROW(lay_out(plan, {32, 16, 512, 4}, 200, false, true), std::invalid_argument);
  EXPECT_NO_THROW(lay_out(plan, {32, 16, 512, 4}, 301, false, true));
}

}  // namespace
}  // namespace spdnn
