// Images that ranks read and move: together they have the images that one process reads, and a file that one process
// refuses is refused. Ranks are threads here.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "cluster/partition.hpp"
#include "inference/network/input_images.hpp"
#include "inference/ranks/move_images.hpp"
#include "inference/ranks/read_on_ranks.hpp"
#include "inference/ranks/run_images.hpp"
#include "io/packed/digests.hpp"
#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "support/battery.hpp"
#include "support/sampled.hpp"
#include "support/thread_ranks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;
using testing::make_matrix;
using testing::Rows;

/// Images with differing values and very different numbers of entries.
ImageSet valued_images(Index images, Index neurons) {
  Rows rows(images);
  for (Index i = 0; i < images; ++i)
    for (Index j = i % 7; j < neurons && i % 5 != 0; j += i % 11 + 1)
      rows[i].emplace_back(j, static_cast<float>(1 + (i + j) % 300) / 4.0F);
  return {make_matrix(neurons, rows)};
}

/// The same with ones alone.
ImageSet sparse_images(Index images, Index neurons) {
  CsrMatrix rows = valued_images(images, neurons).sparse();
  rows.values = {};
  rows.value = 1.0F;
  return {rows};
}

/// Ones, and twos in the last quarter of the images.
ImageSet twos_at_the_end(Index images, Index neurons) {
  Rows rows(images);
  for (Index i = 0; i < images; ++i)
    for (Index j = i % 7; j < neurons; j += 5) rows[i].emplace_back(j, 4 * i < 3 * images ? 1.0F : 2.0F);
  return {make_matrix(neurons, rows)};
}

void expect_same(const ImageSet& found, const ImageSet& expected) {
  ASSERT_EQ(found.images(), expected.images());
  ASSERT_EQ(found.neurons(), expected.neurons());
  const CsrMatrix a = found.to_csr();
  const CsrMatrix b = expected.to_csr();
  for (Index row = 0; row < a.rows; ++row) {
    ASSERT_TRUE(std::ranges::equal(a.row(row), b.row(row))) << "image " << row;
    bool same = true;
    for (Offset k = 0; k < a.degree(row); ++k)
      same = same && a.entry_value(a.offsets[row] + k) == b.entry_value(b.offsets[row] + k);
    ASSERT_TRUE(same) << "image " << row;
  }
}

/// Each rank's images; throws the first error of any of them.
std::vector<ImageSet> by_rank(int ranks, const std::function<ImageSet(Communicator&)>& work) {
  std::vector<ImageSet> all(static_cast<std::size_t>(ranks));
  for (const auto& thrown : testing::on_ranks(
           ranks, [&](Communicator& rank) { all[static_cast<std::size_t>(rank.place().rank)] = work(rank); }))
    if (thrown) std::rethrow_exception(thrown);
  return all;
}

void expect_dealt(const std::vector<ImageSet>& parts, const ImageSet& all) {
  const auto ranks = static_cast<int>(parts.size());
  for (int rank = 0; rank < ranks; ++rank) {
    SCOPED_TRACE("rank " + std::to_string(rank));
    const ImageSet& mine = parts[static_cast<std::size_t>(rank)];
    expect_same(mine, all.select(images_dealt_to(all.images(), rank, ranks)));
    EXPECT_EQ(mine.is_bits(), all.is_bits());
  }
}

struct Stored {
  std::string name;
  ImageSet images;
};

/// Files of several blocks, whose bounds lie within images.
std::vector<Stored> stored() {
  testing::Rng rng(3);
  return {{"bits", testing::bit_images(rng, 3000, 1000, 0.05)},
          {"few", testing::bit_images(rng, 3, 70, 0.3)},
          {"ones", sparse_images(900, 1000)},
          {"many values", valued_images(600, 1200)},
          {"twos at the end", twos_at_the_end(500, 90)},
          {"wide", sparse_images(12, 70000)},
          {"zeros", ImageSet{make_matrix(9, Rows(5))}}};
}

TEST(ImagesOnRanks, FilesOfEveryFormAreReadAsByOneProcess) {
  const TemporaryDirectory directory;
  std::size_t number = 0;
  for (const Stored& one : stored()) {
    ++number;  // a sample takes, of each of these, one form as it is and one with more images
    for (const char* const form : {"i.spdnn", "i.tsv", "i.tsv.gz", "i.mtx"}) {
      const fs::path path = directory / form;
      write_images(path, one.images);
      for (const bool longer : {false, true}) {
        if ((number + (longer ? 1U : 0U)) % testing::sampled(4U, 1U) != 0) continue;
        ImageSpec spec;
        spec.path = path.string();
        const std::string ending = path.extension().string();
        if (ending != ".mtx") spec.images = one.images.images() + (longer ? 100 : 0);
        const ImageSet alone = read_images(path, one.images.neurons(), spec.images);
        for (const int ranks : longer ? std::vector{3} : testing::sampled({7}, {2, 7})) {
          SCOPED_TRACE(one.name + " in " + form + " on " + std::to_string(ranks) + " ranks");
          expect_dealt(by_rank(ranks,
                               [&](Communicator& rank) {
                                 ReadImages read = read_images_on_ranks(rank, spec, one.images.neurons(), {});
                                 EXPECT_EQ(read.images, alone.images());
                                 const bool parts = ending == ".spdnn" || ending == ".tsv";
                                 EXPECT_EQ(read.by, parts ? "all ranks, each a part" : "rank 0, which sent them");
                                 return std::move(read.mine);
                               }),
                       alone);
        }
      }
      ++number;
    }
  }
}

TEST(ImagesOnRanks, TheLargestIdSaysHowManyThereAre) {
  const TemporaryDirectory directory;
  const ImageSet images = valued_images(999, 500);
  ImageSpec spec;
  spec.path = (directory / "i.tsv").string();
  write_images(spec.path, images);
  const ImageSet alone = read_images(spec.path, 500, std::nullopt);
  ASSERT_EQ(alone.images(), 999U);
  const auto dealt = [&] {
    expect_dealt(by_rank(3, [&](Communicator& rank) { return read_images_on_ranks(rank, spec, 500, {}).mine; }), alone);
  };
  dealt();
  // From the last image to the first, so that the largest id is in the first part alone.
  std::ifstream file(spec.path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line + '\n');
  std::stable_sort(lines.begin(), lines.end(),
                   [](const std::string& a, const std::string& b) { return std::stoi(a) > std::stoi(b); });
  std::ofstream sorted(spec.path);
  for (const std::string& line : lines) sorted << line;
  sorted.close();
  dealt();
}

TEST(ImagesOnRanks, AMissingNewlineIsNotedAsByOneProcess) {
  const TemporaryDirectory directory;
  ImageSpec spec;
  spec.path = (directory / "i.tsv").string();
  write_images(spec.path, sparse_images(99, 50));
  for (const std::size_t notes : {0U, 1U}) {
    const std::vector<std::string> by_one = read_images_on_ranks(*alone(), spec, 50, {}).notes;
    EXPECT_EQ(by_one.size(), notes);
    by_rank(3, [&](Communicator& rank) {
      ReadImages read = read_images_on_ranks(rank, spec, 50, {});
      EXPECT_EQ(read.by, "all ranks, each a part");
      EXPECT_EQ(read.notes, by_one);
      return std::move(read.mine);
    });
    fs::resize_file(spec.path, fs::file_size(spec.path) - 1);
  }
}

/// Expects that no rank gets images of the file; returns the error of one process.
std::string read_refused(int ranks, const ImageSpec& spec, Index neurons) {
  const std::vector<int> readers = spec.path.ends_with(".mtx") ? std::vector<int>{0} : std::vector<int>{0, 1, 2};
  const auto work = [&](Communicator& rank) {
    const bool got = spec.path.ends_with(".spdnn")
                         ? read_packed_on_ranks(rank, spec.path, readers, neurons, spec.images).has_value()
                         : read_text_on_ranks(rank, spec.path, readers, neurons, spec.images).has_value();
    EXPECT_FALSE(got);
  };
  for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
  try {
    read_images(spec.path, neurons, spec.images);
  } catch (const DataError& error) {
    return error.what();
  }
  return {};
}

TEST(ImagesOnRanks, AChangedByteAnywhereIsNoticed) {
  const TemporaryDirectory directory;
  for (const Stored& one : stored()) {
    ImageSpec spec;
    spec.path = (directory / "i.spdnn").string();
    write_images(spec.path, one.images);
    const auto size = static_cast<std::streamoff>(fs::file_size(spec.path));
    for (int place = 0; place <= 16; place += testing::sampled(4, 1)) {
      SCOPED_TRACE(one.name + " at " + std::to_string(place) + "/16");
      std::fstream file(spec.path, std::ios::in | std::ios::out | std::ios::binary);
      const std::streamoff at = std::min(size - 1, size * place / 16);
      file.seekg(at);
      const auto byte = static_cast<char>(file.get());
      const auto put = [&](char value) { file.seekp(at).put(value).flush(); };
      put(static_cast<char>(byte ^ 4));
      EXPECT_NE(read_refused(3, spec, one.images.neurons()), "");
      put(byte);
    }
  }
}

TEST(ImagesOnRanks, ALineThatIsWrongAnywhereIsNoticed) {
  const TemporaryDirectory directory;
  ImageSpec spec;
  spec.path = (directory / "i.tsv").string();
  std::string good;
  for (int image = 1; image <= 300; ++image)
    for (int neuron = 1; neuron <= 20; ++neuron)
      good += std::to_string(image) + "\t" + std::to_string(neuron) + "\t1\n";
  const auto middle = good.find('\n', good.size() / 2) + 1;
  for (const char* const bad : {"1\t21\t1\n", "x\t1\t1\n", "1\t1\n", "7\t3\t1\n", "1\t1\t1\t1\n"})
    for (const std::size_t at : {std::size_t{0}, middle, good.size()}) {
      std::ofstream(spec.path) << good.substr(0, at) << bad << good.substr(at);
      EXPECT_NE(read_refused(3, spec, 20), "") << bad << at;
    }
}

TEST(ImagesOnRanks, AHeaderThatPromisesOtherEntriesIsNoticed) {
  const TemporaryDirectory directory;
  ImageSpec spec;
  spec.path = (directory / "i.mtx").string();
  for (const char* const entries : {"2", "4"}) {
    std::ofstream(spec.path) << "%%MatrixMarket matrix coordinate pattern general\n5 9 " << entries
                             << "\n1 1\n2 2\n5 9\n";
    EXPECT_NE(read_refused(3, spec, 9), "");
  }
}

TEST(ImagesOnRanks, AnyRanksMayRead) {
  const TemporaryDirectory directory;
  for (const Stored& one : stored()) {
    const std::string packed = (directory / "i.spdnn").string();
    const std::string text = (directory / "i.tsv").string();
    write_images(packed, one.images);
    write_images(text, one.images);
    const Index images = one.images.images();
    const Index neurons = one.images.neurons();
    const std::vector<std::vector<int>> some{{0}, {0, 2}, {0, 1}};
    for (const std::vector<int>& readers : std::span(some).first(testing::sampled(2U, 3U))) {
      const auto read_packed = [&](Communicator& rank) {
        return read_packed_on_ranks(rank, packed, readers, neurons, images).value();
      };
      expect_dealt(by_rank(3, read_packed), read_images(packed, neurons, images));
      const auto read_text = [&](Communicator& rank) {
        return read_text_on_ranks(rank, text, readers, neurons, images).value().mine;
      };
      expect_dealt(by_rank(3, read_text), read_images(text, neurons, images));
    }
  }
}

TEST(ImagesOfInput, SomeOfAFileOfEveryForm) {
  const TemporaryDirectory directory;
  std::size_t number = 0;
  for (const Stored& one : stored())
    for (const char* const form : {"i.spdnn", "i.tsv", "i.tsv.gz", "i.mtx"}) {
      if (number++ % testing::sampled(3U, 1U) != 0) continue;
      SCOPED_TRACE(one.name + " in " + form);
      ImageSpec spec;
      spec.path = (directory / form).string();
      write_images(spec.path, one.images);
      const SomeImages images = images_of_input(spec, one.images.neurons(), one.images.images());
      fs::rename(spec.path, directory / "another name");
      for (const Index first : {1U, one.images.images() - 1}) {
        std::vector<Index> ids;
        for (Index id = first; id < one.images.images(); id += id % 3 + 1) ids.push_back(id);
        expect_same(images(ids), one.images.select(ids));
      }
    }
}

TEST(ImagesOfInput, OfMoreImagesThanThePackedFileHas) {
  const TemporaryDirectory directory;
  ImageSpec spec;
  spec.path = (directory / "i.spdnn").string();
  const ImageSet images{make_matrix(4, {{{0, 2.0F}}, {{1, 3.0F}}})};
  write_images(spec.path, images);
  expect_same(images_of_input(spec, 4, 9)(std::vector<Index>{1, 8}), ImageSet{make_matrix(4, {{{1, 3.0F}}, {}})});
}

TEST(RunImages, FactsDigestsAndSelectionsAreThoseOfAllImages) {
  Rows ones(3000, {{7, 1.F}});
  ones.back() = {{7, 0.5F}};  // on one rank alone
  std::vector<Stored> some = stored();
  some.push_back({"one value among ones", ImageSet{make_matrix(1000, ones)}});
  for (const Stored& one : some) {
    SCOPED_TRACE(one.name);
    const ImageSet& all = one.images;
    std::vector<Index> ids;
    for (Index id = 0; id < all.images(); id += 3) ids.push_back(id);
    std::optional<std::uint64_t> alone;
    for (const int ranks : {1, 2, 5}) {
      const auto work = [&](Communicator& rank) {
        const Owners owners = dealt_owners(all.images(), ranks);
        const RunImages images(rank, {all.select(ids_of(owners, rank.place().rank)), all.images(), {}, {}});
        EXPECT_EQ(images.facts().images, all.images());
        EXPECT_EQ(images.facts().neurons, all.neurons());
        EXPECT_EQ(images.facts().binary, facts_of(all).binary);
        EXPECT_EQ(images.facts().largest, facts_of(all).largest);
        EXPECT_EQ(images.facts().most_entries, facts_of(all).most_entries);
        EXPECT_EQ(images.empty(), all.empty_images());
        const std::vector<Index> asked = rank.is_root() ? ids : std::vector<Index>{};
        std::vector<Index> dealt = images_dealt_to(static_cast<Index>(ids.size()), rank.place().rank, ranks);
        for (Index& place : dealt) place = ids[place];
        const Work mine = images.deal(rank, asked);
        EXPECT_EQ(mine.ids, dealt);
        expect_same(mine.images, all.select(dealt));
        const auto binary = images.binary_digest(rank);
        const std::uint64_t digest = images.digest(rank);
        if (!rank.is_root()) return;
        EXPECT_EQ(binary, image_digest(all));
        EXPECT_EQ(digest, binary.value_or(digest));
        if (!alone) alone = digest;
        EXPECT_EQ(digest, alone);
      };
      for (const auto& thrown : testing::on_ranks(ranks, work)) EXPECT_EQ(thrown, nullptr);
    }
  }
}

TEST(MoveImages, RanksWhoseImagesHaveOneValueEach) {
  const auto of_value = [](float value) { return ImageSet{make_matrix(4, {{{0, value}, {2, value}}, {}}, true)}; };
  const Owners before{0, 0, 1, 1};
  const Owners after{1, 0, 1, 0};
  const auto parts = by_rank(
      2, [&](Communicator& rank) { return move_images(rank, of_value(rank.is_root() ? 2.0F : 3.0F), before, after); });
  expect_same(parts[0], ImageSet{make_matrix(4, {{}, {}})});
  expect_same(parts[1], ImageSet{make_matrix(4, {{{0, 2.0F}, {2, 2.0F}}, {{0, 3.0F}, {2, 3.0F}}})});
}

TEST(MoveImages, ImagesOfOneValueStayThatAndBitsJoinThem) {
  const auto of_value = [](float value) { return ImageSet{make_matrix(4, {{{0, value}, {2, value}}, {}}, true)}; };
  const ImageSet bits{of_value(1).to_bits()};
  const auto moved = [](const ImageSet& first, const ImageSet& second) {
    const auto parts = by_rank(2, [&](Communicator& rank) {
      return move_images(rank, rank.is_root() ? first : second, {0, 0, 1, 1}, {1, 0, 0, 0});
    });
    const auto has = [](const ImageSet& found, Index row, float value) {
      return found.to_csr().degree(row) == 2 && found.to_csr().entry_value(found.to_csr().offsets[row]) == value;
    };
    EXPECT_EQ(parts[0].images(), 3U);
    EXPECT_TRUE(has(parts[1], 0, first.is_bits() ? 1 : first.sparse().value));
    EXPECT_TRUE(has(parts[0], 1, second.is_bits() ? 1 : second.sparse().value));
    return std::pair{parts[0], parts[1]};
  };
  for (const float value : {0.5F, 2.F}) {
    const auto [one, other] = moved(of_value(value), of_value(value));
    EXPECT_TRUE(one.sparse().uniform() && other.sparse().uniform()) << value;
  }
  for (const float value : {1.F, 2.F})
    for (const bool first : {false, true}) {
      const auto [one, other] = first ? moved(bits, of_value(value)) : moved(of_value(value), bits);
      EXPECT_EQ(one.sparse().uniform() && other.sparse().uniform(), value == 1) << first;
    }
  EXPECT_TRUE(moved(bits, bits).first.is_bits());
}

TEST(ImageFacts, ByHand) {
  for (const Index full : {0U, 1U, 2U}) {
    Rows rows(3);
    rows[full] = {{0, 0.5F}, {1, 4.0F}, {3, -5.0F}};
    const ImageFacts facts = facts_of({make_matrix(4, rows)});
    EXPECT_EQ(facts.images, 3U);
    EXPECT_EQ(facts.neurons, 4U);
    EXPECT_EQ(facts.most_entries, 3U) << full;
    EXPECT_EQ(facts.largest, 5);
    EXPECT_FALSE(facts.bits || facts.binary || facts.within_unit || facts.repeats);
  }
  const ImageFacts one = facts_of({make_matrix(4, {{{0, 1.0F}, {2, 1.0F}}}, true)});
  EXPECT_TRUE(one.binary && one.within_unit);
  EXPECT_EQ(facts_of({make_matrix(4, {{{0, -2.0F}, {2, -2.0F}}}, true)}).largest, 2);
  EXPECT_EQ(one.largest, 1);
  EXPECT_EQ(one.most_entries, 2U);
}

TEST(ImageFacts, OfTwoSetsAreThoseOfBothTogether) {
  const ImageSet twice{make_matrix(4, {{{0, 1.0F}, {0, 1.0F}, {1, 1.0F}}})};
  const ImageSet dark{make_matrix(4, {{{0, -3.0F}}, {}})};
  const ImageSet bits{ImageSet{make_matrix(4, {{{1, 1.0F}}}, true)}.to_bits()};
  for (const auto& [one, other] :
       {std::pair{twice, dark}, {dark, twice}, {bits, dark}, {dark, bits}, {ImageSet{}, dark}}) {
    const ImageFacts both = join_facts(facts_of(one), facts_of(other));
    EXPECT_EQ(both.images, one.images() + other.images());
    EXPECT_EQ(both.bytes, one.images() == 0 ? other.bytes() : one.bytes() + other.bytes());
    EXPECT_FALSE(both.bits || both.binary || both.within_unit);
    EXPECT_EQ(both.largest, 3);
    EXPECT_EQ(both.repeats,
              one.images() + other.images() == 3 && !one.is_bits() && !other.is_bits() && one.images() > 0);
  }
}

TEST(MoveImages, RanksWithoutImagesAndImagesThatNobodyWants) {
  const ImageSet all = valued_images(100, 64);
  Owners after(100, kNobody);
  for (Index id = 10; id < 20; ++id) after[id] = 2;
  const auto parts = by_rank(3, [&](Communicator& rank) {
    return move_images(rank, rank.is_root() ? all : ImageSet{}, owned_by_root(100), after);
  });
  EXPECT_EQ(parts[0].images(), 0U);
  EXPECT_EQ(parts[1].images(), 0U);
  expect_same(parts[2], all.slice(10, 10));
}

}  // namespace
}  // namespace spdnn
