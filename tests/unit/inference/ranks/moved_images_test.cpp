// Images that go from rank to rank, in one round or in many, and the form in which they arrive. Ranks are threads here.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/partition.hpp"
#include "core/threads/parallel.hpp"
#include "inference/ranks/move_images.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/thread_ranks.hpp"

namespace spdnn {
namespace {

using testing::make_matrix;
using testing::Rows;

/// A rank that counts how often bytes go from all ranks to all.
class MovingRank final : public testing::ThreadRank {
 public:
  static inline std::atomic<int> rounds = 0;
  using ThreadRank::ThreadRank;
  void exchange(std::span<const std::byte> out, std::span<const std::size_t> out_sizes, std::span<std::byte> in,
                std::span<const std::size_t> in_sizes) override {
    if (is_root()) ++rounds;
    ThreadRank::exchange(out, out_sizes, in, in_sizes);
  }
};

/// What each of the ranks makes.
std::vector<ImageSet> made_by_ranks(int ranks, const std::function<ImageSet(Communicator&)>& make) {
  std::vector<ImageSet> all(static_cast<std::size_t>(ranks));
  const ThreadLimit limit(1);
  MovingRank::rounds = 0;
  for (const auto& thrown : testing::on_ranks<MovingRank>(
           ranks, [&](Communicator& rank) { all[static_cast<std::size_t>(rank.place().rank)] = make(rank); }))
    EXPECT_EQ(thrown, nullptr);
  return all;
}

CsrMatrix of_value(CsrMatrix rows, float value) {
  rows.values = {};
  rows.value = value;
  return rows;
}

/// 23 images of 70 neurons: of the sizes 0 to 6, with values that differ, with one value, and as bits.
std::vector<ImageSet> images_to_move() {
  Rows rows(23);
  for (Index i = 0; i < rows.size(); ++i)
    for (Index j = 0; j < i % 7; ++j) rows[i].emplace_back(11 * j + i % 3, 1.0F + static_cast<float>(i + 40 * j) / 8);
  const CsrMatrix valued = make_matrix(70, rows);
  return {ImageSet{valued}, ImageSet{of_value(valued, 2)}, ImageSet{ImageSet{of_value(valued, 1)}.to_bits()}};
}

/// However few bytes go at a time, each image arrives once, in the order of the ids, whoever had it.
TEST(MovedImages, ArriveWholeInAnyNumberOfRounds) {
  constexpr int kRanks = 3;
  for (const ImageSet& all : images_to_move()) {
    Owners before(all.images());
    Owners after(all.images());
    for (Index id = 0; id < all.images(); ++id) {
      before[id] = id < 9 ? 0 : 1 + static_cast<int>(id % 2);
      after[id] = id % 5 == 3 ? kNobody : static_cast<int>(id / 3 % 3);
    }
    std::size_t most = 0;  // bytes that a rank has
    for (int rank = 0; rank < kRanks; ++rank) most = std::max(most, all.select(ids_of(before, rank)).bytes());
    for (const std::size_t rounds : {1U, 2U, 4U, 7U, 23U}) {
      const std::size_t on_the_way = rounds == 23 ? 1 : most / rounds + 1;
      const auto parts = made_by_ranks(kRanks, [&](Communicator& rank) {
        return move_images(rank, all.select(ids_of(before, rank.place().rank)), before, after, on_the_way);
      });
      EXPECT_EQ(MovingRank::rounds, 2 * static_cast<int>(rounds)) << "the sizes, and the images";
      for (int rank = 0; rank < kRanks; ++rank) {
        SCOPED_TRACE(std::to_string(rounds) + " rounds, rank " + std::to_string(rank));
        const ImageSet& mine = parts[static_cast<std::size_t>(rank)];
        testing::expect_equal(mine.to_csr(), all.select(ids_of(after, rank)).to_csr());
        EXPECT_EQ(mine.is_bits(), all.is_bits());
        if (!all.is_bits()) {
          EXPECT_EQ(mine.sparse().uniform(), all.sparse().uniform());
        }
      }
    }
  }
}

/// Whichever ranks have none, and whatever form these have.
TEST(MovedImages, KeepTheirFormBesideRanksWithoutImages) {
  for (const ImageSet& all : images_to_move())
    for (int owner = 0; owner < 3; ++owner)
      for (const ImageSet& none :
           {ImageSet{}, ImageSet{make_matrix(70, {})}, ImageSet{of_value(make_matrix(70, {}), 9)},
            ImageSet{ImageSet{of_value(make_matrix(70, {}), 1)}.to_bits()}}) {
        const Owners after = dealt_owners(all.images(), 3);
        const auto parts = made_by_ranks(3, [&](Communicator& rank) {
          return move_images(rank, rank.place().rank == owner ? all : none, Owners(all.images(), owner), after);
        });
        for (int rank = 0; rank < 3; ++rank) {
          SCOPED_TRACE("owner " + std::to_string(owner) + ", rank " + std::to_string(rank));
          const ImageSet& mine = parts[static_cast<std::size_t>(rank)];
          testing::expect_equal(mine.to_csr(), all.select(ids_of(after, rank)).to_csr());
          EXPECT_EQ(mine.is_bits(), all.is_bits());
          EXPECT_EQ(mine.neurons(), 70U);
          if (!all.is_bits()) {
            EXPECT_EQ(mine.sparse().uniform(), all.sparse().uniform());
          }
        }
      }
}

TEST(MovedImages, WhoseOwnersStayStayAsTheyAre) {
  const ImageSet all = images_to_move()[0];
  const Owners owners = dealt_owners(all.images(), 2);
  made_by_ranks(2, [&](Communicator& rank) {
    const ImageSet mine = all.select(ids_of(owners, rank.place().rank));
    ImageSet moved = move_images(rank, mine, owners, owners);
    EXPECT_EQ(moved.sparse().indices.data(), mine.sparse().indices.data());
    return moved;
  });
  EXPECT_EQ(MovingRank::rounds, 0);
}

/// Of 64 neurons, where a row of bits takes 8 bytes, and a row of entries 8, and 4 for each of them.
TEST(ImagesInCommonForm, AreBitsWhereThoseOfAllRanksTakeLessMemory) {
  const auto rows_of = [](Index images, Index entries, float value) {
    Rows rows(images);
    for (auto& row : rows)
      for (Index j = 0; j < entries; ++j) row.emplace_back(3 * j, value);
    return make_matrix(64, rows);
  };
  const ImageSet full{rows_of(5, 7, 1)};
  const ImageSet sparse{rows_of(5, 0, 1)};
  const ImageSet bits{full.to_bits()};
  const ImageSet valued{rows_of(5, 7, 2)};
  struct Case {
    ImageSet first;
    ImageSet second;
    bool as_bits;
  };
  for (const Case& one : {Case{full, full, true}, Case{full, sparse, true}, Case{sparse, full, true},
                          Case{bits, full, true}, Case{sparse, bits, true}, Case{valued, full, false},
                          Case{full, valued, false}, Case{valued, bits, false}, Case{bits, valued, false}}) {
    const auto parts = made_by_ranks(
        2, [&](Communicator& rank) { return in_common_form(rank, rank.is_root() ? one.first : one.second); });
    for (const std::size_t rank : {0U, 1U}) {
      EXPECT_EQ(parts[rank].is_bits(), one.as_bits);
      const CsrMatrix expected = (rank == 0 ? one.first : one.second).to_csr();
      const CsrMatrix found = parts[rank].to_csr();
      ASSERT_EQ(found.entries(), expected.entries());
      for (Offset k = 0; k < found.entries(); ++k) EXPECT_EQ(found.entry_value(k), expected.entry_value(k));
    }
  }
}

/// Empty images are offsets alone, as many as there are words of bits: one more.
TEST(ImagesInCommonForm, OfManyNeuronsAndFewEntriesAreRows) {
  const auto form = [](Index neurons, Index entries) {
    Rows rows(4);
    for (Index j = 0; j < entries; ++j) rows[0].emplace_back(j, 1.0F);
    const ImageSet images{make_matrix(neurons, rows)};
    return made_by_ranks(2, [&](Communicator& rank) { return in_common_form(rank, images); })[1].is_bits();
  };
  EXPECT_TRUE(form(64, 0));
  EXPECT_FALSE(form(65, 0));
  EXPECT_FALSE(form(65, 7)) << "2 x 64 bytes against 2 x 60 and one offset";
  EXPECT_TRUE(form(65, 8)) << "2 x 64 bytes against 2 x 64 and one offset";
}

}  // namespace
}  // namespace spdnn
