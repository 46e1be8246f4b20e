// The remaining work of ranks, which the root collects part by part. Ranks are threads here.

#include "inference/ranks/left_work.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "inference/checkpoint/checkpoint.hpp"
#include "inference/ranks/continued_work.hpp"
#include "spdnn/inference.hpp"
#include "support/battery.hpp"
#include "support/equal.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Remaining work by rank: the second has none, the last has several pieces, one as bits and one with one value.
std::array<std::vector<Work>, 4> left_of_ranks() {
  testing::Rng rng(5);
  std::array<std::vector<Work>, 4> left;
  left[0] = {{3, {0, 4}, testing::valued_images(rng, 2, 30, 0.5)}, {0, {8, 12}, {}}};
  left[2] = {{2, {2, 6, 10}, testing::valued_images(rng, 3, 40, 0.5)}};
  left[3] = {{2, {3, 7}, testing::bit_images(rng, 2, 40, 0.5)},
             {5, {11}, {testing::make_matrix(20, {{}})}},
             {5, {1}, testing::valued_images(rng, 1, 20, 0.9)},
             {0, {15}, {}}};
  return left;
}

/// The root's result of `take`.
void on_the_root(std::size_t part_bytes, const std::function<void(LeftWork&)>& take) {
  const auto all = left_of_ranks();
  const auto work = [&](Communicator& ranks) {
    LeftWork left(ranks, all[static_cast<std::size_t>(ranks.place().rank)], part_bytes);
    left.on_root([&] { take(left); });
    left.on_root([] {});
  };
  for (const auto& thrown : testing::on_ranks(4, work)) EXPECT_EQ(thrown, nullptr);
}

std::vector<ImageSet> parts_of(LeftWork& left) {
  std::vector<ImageSet> parts;
  while (const auto part = left.next_part()) parts.push_back(*part);
  return parts;
}

std::vector<const Work*> begun_of(const std::array<std::vector<Work>, 4>& all) {
  std::vector<const Work*> begun;
  for (const std::vector<Work>& of_rank : all)
    for (const Work& work : of_rank)
      if (work.layer > 0) begun.push_back(&work);
  return begun;
}

TEST(LeftWork, TheOutlineIsThatOfAllRanks) {
  on_the_root(0, [](const LeftWork& left) {
    std::vector<Index> layers;
    std::vector<Index> ids;
    for (const Work& work : left.outline()) {
      layers.push_back(work.layer);
      ids.insert(ids.end(), work.ids.begin(), work.ids.end());
      EXPECT_EQ(work.images.images(), 0U);
    }
    EXPECT_EQ(layers, (std::vector<Index>{3, 0, 2, 2, 5, 5, 0}));
    EXPECT_EQ(ids, (std::vector<Index>{0, 4, 8, 12, 2, 6, 10, 3, 7, 11, 1, 15}));
  });
}

TEST(LeftWork, ThereIsAPartForEachPieceWhereThereIsNoRoomForMore) {
  const auto all = left_of_ranks();
  on_the_root(0, [&](LeftWork& left) {
    const std::vector<ImageSet> parts = parts_of(left);
    const std::vector<const Work*> begun = begun_of(all);
    ASSERT_EQ(parts.size(), begun.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      parts[i].validate();
      testing::expect_equal(parts[i].to_csr(),
                            images_of_all({begun[i], begun[i]}).slice(0, parts[i].images()).to_csr());
    }
  });
}

TEST(LeftWork, WhereThereIsRoomAllPiecesAreOnePart) {
  const auto all = left_of_ranks();
  on_the_root(LeftWork::kPartBytes, [&](LeftWork& left) {
    const std::vector<ImageSet> parts = parts_of(left);
    ASSERT_EQ(parts.size(), 1U);
    parts[0].validate();
    testing::expect_equal(parts[0].to_csr(), images_of_all(begun_of(all)).to_csr());
  });
}

TEST(LeftWork, NoPartOfSeveralPiecesTakesMoreThanItMay) {
  const auto all = left_of_ranks();
  std::size_t most = 0;
  for (const Work* const work : begun_of(all)) {
    const CsrMatrix rows = work->images.to_csr();
    most = std::max(most, rows.offsets.bytes() + rows.entries() * (sizeof(Index) + sizeof(float)));
  }
  on_the_root(most, [&](LeftWork& left) {
    const std::vector<ImageSet> parts = parts_of(left);
    EXPECT_GT(parts.size(), 1U);
    EXPECT_LT(parts.size(), begun_of(all).size());
    for (const ImageSet& part : parts) EXPECT_LE(part.bytes(), most);
  });
}

TEST(LeftWork, ACheckpointOfSeveralPartsIsReadWhole) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  const auto all = left_of_ranks();
  Network network;
  testing::Rng rng(1);
  for (const auto& [inputs, outputs] :
       std::vector<std::pair<Index, Index>>{{9, 9}, {9, 40}, {40, 30}, {30, 9}, {9, 20}, {20, 9}})
    network.layers.push_back(testing::random_layer(rng, inputs, outputs, 3, 0.1, 1.0, -0.1));
  const Plan plan = testing::unreduced_plan(network);
  Checkpoint now(plan, Precision::fp32, 7, 16);
  std::size_t files = 0;
  on_the_root(0, [&](LeftWork& left) {
    conclude_work({}, left.outline(), now);
    const WrittenCheckpoint written = write_checkpoint(path, now, [&] { return left.next_part(); });
    files = written.activations.size();
    EXPECT_EQ(written.begun_again, "");
  });
  EXPECT_EQ(files, 5U);
  Checkpoint read(plan, Precision::fp32, 7, 16);
  read_checkpoint(path, read);
  const auto ranks = alone();
  const RunImages images(*ranks, {.mine = testing::bit_images(rng, 16, 9, 0.5), .images = 16, .by = {}});
  const std::vector<Work> left = continued_work(*ranks, images, path, read, plan);
  ASSERT_EQ(left.size(), 4U);  // layers 0, 2, 3 and 5
  EXPECT_EQ(left[0].ids, (std::vector<Index>{8, 12, 15}));
  EXPECT_EQ(left[1].ids, (std::vector<Index>{2, 6, 10, 3, 7}));
  testing::expect_equal(left[1].images.to_csr(), images_of_all({&all[2][0], &all[3][0]}).to_csr());
  testing::expect_equal(left[2].images.to_csr(), all[0][0].images.to_csr());
  testing::expect_equal(left[3].images.to_csr(), images_of_all({&all[3][1], &all[3][2]}).to_csr());
  remove_checkpoint(path);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

}  // namespace
}  // namespace spdnn
