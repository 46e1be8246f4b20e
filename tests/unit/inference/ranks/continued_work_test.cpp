// Ranks read a checkpoint's activations. Ranks are threads here.

#include "inference/ranks/continued_work.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "cluster/together.hpp"
#include "inference/checkpoint/activation_files.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/dealt_work.hpp"
#include "support/equal.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

constexpr Index kImages = 900;

/// A checkpoint of work at three layers, at one of them in two pieces, and of images that had not been begun.
class ContinuedWork : public ::testing::Test {
 protected:
  ContinuedWork() {
    testing::Rng rng(4);
    network_.layers.push_back(testing::random_layer(rng, 40, 1500, 3, 0.1, 1.0, -0.1));
    network_.layers.push_back(testing::random_layer(rng, 1500, 700, 3, 0.1, 1.0, -0.1));
    network_.layers.push_back(testing::random_layer(rng, 700, 1000, 3, 0.1, 1.0, -0.1));
    network_.layers.push_back(testing::random_layer(rng, 1000, 9, 3, 0.1, 1.0, -0.1));
    plan_ = testing::unreduced_plan(network_);
    images_ = testing::bit_images(rng, kImages, 40, 0.3);
    begun_ = {piece(rng, 1, 166, 300), piece(rng, 3, 466, 333), piece(rng, 1, 799, 100), piece(rng, 2, 899, 1)};
    ids_of_fresh_.resize(kImages - 734);
    std::iota(ids_of_fresh_.begin(), ids_of_fresh_.end(), Index{0});
  }

  Work piece(testing::Rng& rng, Index layer, Index first, Index count) const {
    Work work{layer, std::vector<Index>(count), testing::valued_images(rng, count, plan_.shape(layer).inputs, 0.2)};
    std::iota(work.ids.begin(), work.ids.end(), first);
    return work;
  }

  std::string path() const { return (directory_ / "run").string(); }
  fs::path file(std::size_t number) const { return activations_path(path(), written_.activations.at(number)); }

  /// Two files of two pieces each.
  void write() {
    Checkpoint now(plan_, Precision::fp32, 7, kImages);
    std::vector<Work> left{{0, ids_of_fresh_, {}}};
    for (const Work& work : begun_) left.push_back({work.layer, work.ids, {}});
    conclude_work({}, left, now);
    std::size_t next = 0;
    written_ = write_checkpoint(path(), now, [&]() -> std::optional<ImageSet> {
      if (next == begun_.size()) return {};
      next += 2;
      return images_of_all({&begun_[next - 2], &begun_[next - 1]});
    });
  }

  /// A rank's part of the checkpoint that it finds at `path`.
  std::vector<Work> work_of(Communicator& ranks, const std::string& path) const {
    const Index count = kImages;
    const auto mine = images_dealt_to(count, ranks.place().rank, ranks.place().ranks);
    const RunImages images(ranks, {.mine = images_.select(mine), .images = count, .by = {}});
    Checkpoint begin;
    if (ranks.is_root()) {
      begin = Checkpoint(plan_, Precision::fp32, 7, count);
      read_checkpoint(path, begin);
    }
    return continued_work(ranks, images, path, begin, plan_);
  }

  /// Expects that `mine` is a rank's part.
  void expect_part(const std::vector<Work>& mine, const RankPlace& place) const {
    const std::vector<Work> all{{0, ids_of_fresh_, images_.select(ids_of_fresh_)},
                                {1, joined(begun_[0].ids, begun_[2].ids), images_of_all({&begun_[0], &begun_[2]})},
                                begun_[3],
                                begun_[1]};
    const std::vector<Work> expected = testing::dealt_work(place, all);
    ASSERT_EQ(mine.size(), expected.size());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      SCOPED_TRACE(::testing::Message() << "rank " << place.rank << ", piece " << i);
      EXPECT_EQ(mine[i].layer, expected[i].layer);
      EXPECT_EQ(mine[i].ids, expected[i].ids);
      testing::expect_equal(mine[i].images.to_csr(), expected[i].images.to_csr());
    }
  }

  static std::vector<Index> joined(std::vector<Index> one, const std::vector<Index>& other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
  }

  /// The errors of three ranks, and of one.
  std::vector<std::string> errors() const {
    std::vector<std::string> texts;
    for (const int ranks : {1, 3})
      for (const auto& thrown : testing::on_ranks(ranks, [&](Communicator& rank) {
             if (rank.is_alone()) return (void)work_of(rank, path());
             try {
               work_of(rank, path());
             } catch (const RanksFailed& failed) {
               if (failed.own) std::rethrow_exception(failed.own);
             }
           }))
        try {
          if (thrown) std::rethrow_exception(thrown);
        } catch (const DataError& error) {
          texts.emplace_back(error.what());
        }
    return texts;
  }

  TemporaryDirectory directory_;
  Network network_;
  Plan plan_;
  ImageSet images_;
  std::vector<Work> begun_;
  std::vector<Index> ids_of_fresh_;
  WrittenCheckpoint written_;
};

TEST_F(ContinuedWork, IsDealtToAnyNumberOfRanks) {
  write();
  ASSERT_EQ(written_.activations.size(), 2U);
  for (const int ranks : {1, 2, 3, 7})
    for (const auto& thrown :
         testing::on_ranks(ranks, [&](Communicator& rank) { expect_part(work_of(rank, path()), rank.place()); }))
      EXPECT_EQ(thrown, nullptr);
}

TEST_F(ContinuedWork, RanksThatDoNotFindTheFilesGetTheirPart) {
  write();
  for (const int ranks : {2, 4})
    for (const auto& thrown : testing::on_ranks(ranks, [&](Communicator& rank) {
           const bool finds = rank.place().rank % 3 == 0;
           expect_part(work_of(rank, finds ? path() : "/nowhere/run"), rank.place());
         }))
      EXPECT_EQ(thrown, nullptr);
}

TEST_F(ContinuedWork, IsRefusedWhereAFileHoldsOtherActivations) {
  write();
  fs::remove(file(0));
  write_images(file(0), begun_[1].images);
  for (const std::string& text : errors())
    EXPECT_EQ(text, file(0).string() + ": holds other activations than the checkpoint's");
  EXPECT_EQ(errors().size(), 2U);
}

TEST_F(ContinuedWork, IsRefusedWhereAFileIsMissing) {
  write();
  fs::remove(file(1));
  EXPECT_EQ(errors().size(), 2U);
}

TEST_F(ContinuedWork, IsRefusedWhereAnImageIsWiderThanItsLayer) {
  testing::Rng rng(5);
  begun_[3].images = testing::valued_images(rng, 1, plan_.shape(2).inputs + 1, 100);
  write();
  for (const std::string& text : errors())
    EXPECT_EQ(text, file(1).string() + ": an image has more than the 700 neurons before layer 3");
  EXPECT_EQ(errors().size(), 2U);
}

TEST_F(ContinuedWork, IsRefusedWhereTheFilesHaveMoreOrFewerImages) {
  for (const Index images : {50U, 150U}) {
    begun_[2].images = begun_[0].images.slice(0, images);
    write();
    EXPECT_EQ(errors().size(), 4U);
  }
}

}  // namespace
}  // namespace spdnn
