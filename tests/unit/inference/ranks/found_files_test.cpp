// Files of images that some ranks find, and others do not, or not as the first rank finds them; and files that one
// process refuses. Ranks are threads here.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/system/machine_names.hpp"
#include "core/threads/parallel.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "io/packed/format.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

constexpr Index kFoundImages = 300;
constexpr Index kFoundNeurons = 40;

/// Lines of images with a few entries each, more of them than a rank looks at when it compares files.
std::string lines_of_images() {
  std::string text;
  for (Index image = 1; image <= kFoundImages; ++image)
    for (Index j = 1 + image % 3; j <= kFoundNeurons; j += 5)
      text += std::to_string(image) + "\t" + std::to_string(j) + "\t" + (image == 2 ? "2" : "1") + "\n";
  return text;
}

struct RanksRead {
  std::vector<ImageSet> parts;
  std::string by;
  FileNotes notes;
};

/// What three ranks read, each the file of the path that it is given.
RanksRead read_by_three(const std::function<std::string(int)>& path, std::optional<Index> images = {}) {
  RanksRead all{std::vector<ImageSet>(3), {}, {}};
  const ThreadLimit limit(1);
  for (const auto& thrown : testing::on_ranks(3, [&](Communicator& rank) {
         const ImageSpec spec{.path = path(rank.place().rank), .mnist = {}, .images = images};
         ReadImages read = read_images_on_ranks(rank, spec, kFoundNeurons, {});
         all.parts[static_cast<std::size_t>(rank.place().rank)] = std::move(read.mine);
         if (!rank.is_root()) return;
         all.by = read.by;
         all.notes = read.notes;
       }))
    EXPECT_EQ(thrown, nullptr);
  return all;
}

class FoundFiles : public ::testing::Test {
 protected:
  FoundFiles() { write(first_, text_); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  /// The third rank finds `other`, and all get the images of the first rank's file.
  void expect_first_file(const std::string& first, const std::string& other) const {
    const RanksRead read = read_by_three([&](int rank) { return rank == 2 ? other : first; });
    EXPECT_EQ(read.by, "2 of 3 ranks, each a part");
    ASSERT_EQ(read.notes.size(), 1U);
    EXPECT_EQ(read.notes[0], first + " is not the same file on 1 of 3 ranks, the first of which is rank 2 on " +
                                 host_name() + ": the others sent them their images");
    const ImageSet all = read_images(first, kFoundNeurons, std::nullopt);
    for (int rank = 0; rank < 3; ++rank)
      testing::expect_equal(read.parts[static_cast<std::size_t>(rank)].to_csr(),
                            all.select(ids_of(dealt_owners(kFoundImages, 3), rank)).to_csr());
  }

  TemporaryDirectory directory_;
  std::string first_ = (directory_ / "i.tsv").string();
  std::string text_ = lines_of_images();
};

TEST_F(FoundFiles, OfATextThatARankFindsOtherwiseTheFirstRanksCounts) {
  const std::string other = (directory_ / "other.tsv").string();
  expect_first_file(first_, other);  // which is not there
  const auto changed = [&](const std::string& text, bool at_once) {
    write(other, text);
    fs::last_write_time(other, fs::last_write_time(first_) + std::chrono::seconds(at_once ? 0 : 2));
    expect_first_file(first_, other);
  };
  std::string begins_otherwise = text_;
  begins_otherwise[text_.find("\t1\n") + 1] = '3';
  changed(begins_otherwise, true);
  std::string ends_otherwise = text_;
  ends_otherwise[text_.size() - 2] = '3';
  changed(ends_otherwise, true);
  const std::size_t middle = text_.find('\n', text_.size() / 2) + 1;
  ASSERT_GT(middle, 4096U);
  ASSERT_GT(text_.size() - middle, 4096U);
  changed(text_.substr(0, middle) + "300\t40\t5\n" + text_.substr(middle), true);
  changed(text_, false);
}

TEST_F(FoundFiles, OfAPackedFileThatARankFindsOtherwiseTheFirstRanksCounts) {
  const std::string first = (directory_ / "i.spdnn").string();
  const std::string other = (directory_ / "other.spdnn").string();
  const ImageSet images = read_images(first_, kFoundNeurons, std::nullopt);
  write_images(first, images);
  expect_first_file(first, other);
  CsrMatrix twice = images.to_csr();
  twice.values = Array<float>(std::vector<float>(twice.entries(), 2.0F));
  write_images(other, {twice});
  expect_first_file(first, other);
  write_images(other, images);  // at another time
  const RanksRead read = read_by_three([&](int rank) { return rank == 2 ? other : first; });
  EXPECT_EQ(read.by, "all ranks, each a part");
  EXPECT_TRUE(read.notes.empty());
}

/// Whether three ranks read a file in parts; those that do not leave it to one process to say why.
bool is_read_in_parts(const std::string& path, Index neurons, std::optional<Index> images) {
  std::array<bool, 3> taken{};
  const ThreadLimit limit(1);
  for (const auto& thrown : testing::on_ranks(3, [&](Communicator& rank) {
         const std::vector<int> readers = has_one_reader(path) ? std::vector{0} : std::vector{0, 1, 2};
         taken[static_cast<std::size_t>(rank.place().rank)] =
             path.ends_with(".spdnn") ? read_packed_on_ranks(rank, path, readers, neurons, images).has_value()
                                      : read_text_on_ranks(rank, path, readers, neurons, images).has_value();
       }))
    EXPECT_EQ(thrown, nullptr);
  EXPECT_EQ(taken, (std::array{taken[0], taken[0], taken[0]}));
  return taken[0];
}

TEST_F(FoundFiles, OfOtherNeuronsOrMoreImagesThanAskedForAreRefusedAsByOneProcess) {
  const std::string packed = (directory_ / "i.spdnn").string();
  write_images(packed, read_images(first_, kFoundNeurons, std::nullopt));
  for (const std::string& path : {first_, packed})
    for (const Index neurons : {kFoundNeurons - 1, kFoundNeurons, kFoundNeurons + 1})
      for (const std::optional<Index> images : {std::optional<Index>(), {kFoundImages - 1}, {kFoundImages + 1}}) {
        const std::string by_one = testing::message_of<DataError>([&] { read_images(path, neurons, images); });
        EXPECT_EQ(is_read_in_parts(path, neurons, images), by_one == "no error") << path << " " << neurons << by_one;
      }
}

TEST_F(FoundFiles, ThatAreEmptyOnceDecompressedAreRefusedUnlessTheNumberOfImagesIsGiven) {
  const std::string path = (directory_ / "i.tsv.gz").string();
  write(path, std::string("\x1f\x8b\x08\0\0\0\0\0\0\x03\x03\0\0\0\0\0\0\0\0\0", 20));
  EXPECT_FALSE(is_read_in_parts(path, 9, std::nullopt));
  EXPECT_THROW(read_images(path, 9, std::nullopt), DataError);
  const RanksRead read = read_by_three([&](int) { return path; }, 7);
  EXPECT_EQ(read.by, "rank 0, which sent them");
  EXPECT_EQ(read.parts[0].images() + read.parts[1].images() + read.parts[2].images(), 7U);
}

/// The root of a job whose other ranks say nothing; what it sends them comes to itself.
class RootThatReads final : public Communicator {
 public:
  RootThatReads() : Communicator({0, 2, 0, 2}) {}
  void broadcast(std::span<std::byte> /*bytes*/, Group /*group*/) override {}
  bool all(bool mine, Group /*group*/) override { return mine; }
  std::vector<std::size_t> gather_size(std::size_t mine) override { return {mine}; }
  void gather(std::span<const std::byte> mine, std::span<const std::size_t>, std::span<std::byte> all) override {
    std::copy(mine.begin(), mine.end(), all.begin());
  }
  std::vector<std::size_t> exchange_sizes(std::span<const std::size_t> mine) override {
    return {mine.begin(), mine.end()};
  }
  void exchange(std::span<const std::byte> out, std::span<const std::size_t>, std::span<std::byte> in,
                std::span<const std::size_t>) override {
    std::copy(out.begin(), out.end(), in.begin());
  }
};

TEST_F(FoundFiles, BesideImagesOfMnistAreRefused) {
  RootThatReads ranks;
  const auto said = [&](const ImageSpec& spec) {
    return testing::message_of<UsageError>([&] { read_images_on_ranks(ranks, spec, kFoundNeurons, {}); });
  };
  const std::string either = "images: expected either a file of images or MNIST's images";
  EXPECT_EQ(said({.path = first_, .mnist = "m", .images = {}}), either);
  EXPECT_EQ(said({.path = {}, .mnist = {}, .images = {}}), either);
  EXPECT_EQ(said({.path = {}, .mnist = "m", .images = 3}),
            "images: the number of official images is fixed: that of MNIST");
}

/// A reader has 32 blocks of 256 KiB in memory at a time.
TEST_F(FoundFiles, OfMoreBlocksThanAReaderHasAtATimeAreReadWhole) {
  const std::string path = (directory_ / "large.spdnn").string();
  constexpr Index kWords = 1001;
  constexpr Index kRows = 1300;
  std::vector<std::uint64_t> words(std::size_t{kWords} * kRows);
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = i * 0x9E3779B97F4A7C15U;
  const ImageSet all{BitMatrix{.rows = kRows, .cols = 64 * kWords, .words = Array<std::uint64_t>(std::move(words))}};
  ASSERT_GT(all.bytes(), 33U * packed::kBlockBytes);
  write_images(path, all);
  const ThreadLimit limit(1);
  for (const auto& thrown : testing::on_ranks(2, [&](Communicator& rank) {
         const auto read = read_packed_on_ranks(rank, path, {0}, 64 * kWords, std::nullopt);
         ASSERT_TRUE(read && read->is_bits());
         const BitMatrix expected = all.select(ids_of(dealt_owners(kRows, 2), rank.place().rank)).bits();
         EXPECT_TRUE(std::equal(read->bits().words.begin(), read->bits().words.end(), expected.words.begin(),
                                expected.words.end()));
       }))
    EXPECT_EQ(thrown, nullptr);
}

}  // namespace
}  // namespace spdnn
