#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "io/packed/digests.hpp"
#include "io/packed/file.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/equal.hpp"
#include "support/message_of.hpp"
#include "support/packed_samples.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using testing::Bytes;
using testing::expect_equal;
using testing::matrix_of;
using testing::read_back;
using testing::row_of_values;
using testing::small_bits;
using testing::small_images;
using testing::small_merged_plan;
using testing::small_plan;
using testing::stored_network;

void expect_round_trip(const CsrMatrix& weights) {
  Network network;
  network.layers.push_back({weights, {}});
  const Network back = read_back(network);
  back.validate();
  expect_equal(back, network);
  EXPECT_EQ(network_digest(back), network_digest(network));
}

TEST(Packed, NetworkRoundTrip) {
  Network network = stored_network();
  const Network back = read_back(network);
  expect_equal(back, network);
  EXPECT_EQ(network_digest(back), network_digest(network));
  network.cap.reset();
  network.bias_rule = BiasRule::everywhere;
  expect_equal(read_back(network), network);
  expect_equal(read_back(Network{}), Network{});
}

TEST(Packed, ColumnsOnBothSidesOfTwoBytes) {
  expect_round_trip(matrix_of(65536, {{0, 65535}, {1, 65534}}));
  expect_round_trip(matrix_of(65537, {{0, 65536}, {1, 65535}}));
  expect_round_trip(matrix_of(0, {}));
  expect_round_trip(matrix_of(0, {{}, {}}));
  expect_round_trip(matrix_of(5, {}));
}

TEST(Packed, PalettesOfEverySize) {
  for (const Index different : {1U, 2U, 255U, 256U, 257U, 65535U, 65536U, 65537U})
    expect_round_trip(row_of_values(200000, different));
  expect_round_trip(row_of_values(300, 300));  // a palette would take more than the values
}

TEST(Packed, ABlockIsNoBoundary) {
  const auto count = static_cast<Index>(3 * packed::kBlockBytes / sizeof(std::uint16_t) / 8 + 1);
  std::vector<std::vector<Index>> rows(9 * packed::kBlockBytes / 8 / 10);
  for (std::size_t i = 0; i < rows.size(); i += 3) rows[i] = {static_cast<Index>(i % count), 7};
  expect_round_trip(matrix_of(count, rows));
  expect_round_trip(row_of_values(count, 1000));
}

TEST(Packed, ZerosOfBothSignsAreKept) {
  expect_round_trip(matrix_of(4, {{0, 1, 2, 3}}, {0.0F, -0.0F, 0.0F, -0.0F}));
  expect_round_trip(matrix_of(4, {{0, 1, 2, 3}}, {-0.0F, -0.0F, -0.0F, -0.0F}));
}

TEST(Packed, TakesFewBytes) {
  const TemporaryDirectory directory;
  Network network;
  network.layers.push_back({matrix_of(64, std::vector(1000, std::vector<Index>{1, 2, 3, 63})), {}});
  write_packed_network(directory / "n", network);
  // Two bytes per edge, and once each: header, table and description.
  EXPECT_LT(std::filesystem::file_size(directory / "n"), 8000 + 600);
}

TEST(Packed, ImagesRoundTrip) {
  const TemporaryDirectory directory;
  const auto path = directory / "i.spdnn";
  const ImageSet sparse = small_images();
  write_packed_images(path, sparse);
  expect_equal(read_packed_images(path, 3, {}).sparse(), sparse.sparse());
  EXPECT_EQ(read_packed_images(path, {}, 5).images(), 5U);
  EXPECT_EQ(read_packed_images(path, {}, 5).nonzeros(), 3U);
  EXPECT_NO_THROW(read_packed_images(path, {}, 5).validate());
  EXPECT_EQ(read_packed_images(path, {}, 5).sparse().degree(4), 0U);

  for (const Index neurons : {1U, 63U, 64U, 65U, 130U}) {
    const ImageSet bits{ImageSet{matrix_of(neurons, {{0}, {}, {neurons - 1}})}.to_bits()};
    write_packed_images(path, bits);
    const ImageSet back = read_packed_images(path, neurons, {});
    ASSERT_TRUE(back.is_bits());
    expect_equal(back.to_csr(), bits.to_csr());
    EXPECT_EQ(read_packed_images(path, {}, 7).nonzeros(), 2U);
  }
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, 131, {}); }),
            path.string() + ": images of 130 neurons, expected 131");
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, {}, 2); }),
            path.string() + ": 3 images, expected at most 2");
}

TEST(Packed, ARowHoldsAColumnOnceInNetworksAndImages) {
  for (const Index cols : {4U, 70000U}) {  // columns of two bytes and of four
    Network network;
    network.layers.push_back({matrix_of(cols, {{}, {2, 0}, {3}, {3, 1}, {}, {1, 2}}), {}});  // need not ascend
    expect_equal(read_back(network), network);
    network.layers[0].weights = matrix_of(cols, {{0, 1}, {}, {2, 0, 2}, {2}});
    const Bytes file({.network = &network});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
              "f.spdnn: is corrupted: layer 1: row 3 holds column 3 twice, expected once");
    const ImageSet images{matrix_of(cols, {{0, 1}, {1, 1}}, {1.0F, 2.0F, 3.0F, 4.0F})};
    const Bytes other({.images = &images});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_images(other.open()); }),
              "f.spdnn: is corrupted: images: row 2 holds column 2 twice, expected once");
  }
  // Across the end of a block, and with rows of equal length.
  const std::size_t per_block = packed::kBlockBytes / sizeof(std::uint16_t);
  std::vector<std::vector<Index>> rows(per_block, {0, 1, 2});
  rows[per_block / 3] = {1, 2, 2};
  rows[per_block / 3][per_block % 3] = rows[per_block / 3][(per_block + 2) % 3];
  Network network;
  network.layers.push_back({matrix_of(3, rows), {}});
  const Bytes file({.network = &network});
  EXPECT_NE(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
}

TEST(Packed, AColumnTwiceIsFoundWhereverItIsInALongRow) {
  constexpr Index kCount = 70'000;                     // more than are looked over at a time
  for (const Index cols : {Index{65536}, kCount + 1})  // columns of two bytes and of four
    for (const Index place : {10U, 32769U}) {
      std::vector<Index> row(std::min<Index>(kCount, cols));
      std::iota(row.begin(), row.end(), Index{0});
      row[place] = row[place - 1];
      Network network;
      network.layers.push_back({matrix_of(cols, {row}), {}});
      const Bytes file({.network = &network});
      EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
                fmt::format("f.spdnn: is corrupted: layer 1: row 1 holds column {} twice, expected once", place));
    }
}

TEST(Packed, ContentsAreReadFromTheHeader) {
  const TemporaryDirectory directory;
  const auto path = directory / "p.spdnn";
  const Network network = stored_network();
  const ImageSet images = small_images();
  const Plan plan = small_plan(network);
  write_packed(path, {.network = &network, .images = &images, .plan = &plan});
  PackedContents contents = packed_contents(path);
  EXPECT_TRUE(contents.network && contents.images && contents.plan);
  EXPECT_EQ(contents.layers, 3U);
  EXPECT_EQ(contents.edges, network.edges());
  EXPECT_EQ(contents.network_digest, network_digest(network));

  write_packed_images(path, images);
  contents = packed_contents(path);
  EXPECT_TRUE(!contents.network && contents.images && !contents.plan);
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_network(path, {}); }),
            path.string() + ": holds no network");
  EXPECT_EQ(testing::message_of<DataError>([&] { read_plan(path); }), path.string() + ": holds no plan");
  write_packed_network(path, network);
  EXPECT_EQ(testing::message_of<DataError>([&] { read_packed_images(path, {}, {}); }),
            path.string() + ": holds no images");
}

TEST(Packed, WhatTheCallerKnowsMustFit) {
  const TemporaryDirectory directory;
  const auto path = directory / "n.spdnn";
  write_packed_network(path, stored_network());
  const auto read = [&](std::vector<Index> neurons, std::optional<Index> layers) {
    return testing::message_of<DataError>([&] { read_packed_network(path, {neurons, layers, {}}); });
  };
  EXPECT_EQ(read({3, 4, 2, 3}, {}), "no error");
  EXPECT_EQ(read({3, 4, 2}, 2), "no error");
  EXPECT_EQ(read({}, 0), "no error");
  EXPECT_EQ(read({3, 4, 2}, {}), path.string() + ": 3 layers, expected 2");
  EXPECT_EQ(read({}, 4), path.string() + ": holds 3 layers, expected at least 4");
  EXPECT_EQ(read({3}, {}), path.string() + ": layer 1 has 3 inputs and 4 outputs, expected 3 and 3");
  write_packed_images(path, small_bits());
  const Index neurons = small_bits().neurons();
  const Index images = small_bits().images();
  const auto read_set = [&](Index of, Index count) {
    return testing::message_of<DataError>([&] { read_packed_images(path, of, count); });
  };
  EXPECT_EQ(read_set(neurons, images + 1), "no error");
  for (const Index other : {neurons - 1, neurons + 1})
    EXPECT_EQ(read_set(other, images),
              fmt::format("{}: images of {} neurons, expected {}", path.string(), neurons, other));
  EXPECT_EQ(read_set(neurons, images - 1),
            fmt::format("{}: {} images, expected at most {}", path.string(), images, images - 1));
}

TEST(Packed, ForeignFilesAreNamedAsSuch) {
  const TemporaryDirectory directory;
  const auto path = directory / "f.spdnn";
  const auto error_of = [&](const std::string& content) {
    std::ofstream(path) << content;
    return testing::message_of<DataError>([&] { packed_contents(path); });
  };
  EXPECT_EQ(error_of(""), path.string() + ": is empty; expected a packed spdnn file");
  EXPECT_EQ(error_of("1\t1\t0.0625\n"), path.string() + ": is not a packed spdnn file: its first bytes differ");
  EXPECT_EQ(error_of("\x89SPDNN\r\n"), path.string() + ": is cut short: 8 bytes, expected at least 128");

  const Network network = stored_network();
  Bytes file({.network = &network});
  Bytes changed = file;
  changed.bytes[sizeof(packed::Header)] ^= std::byte{1};
  EXPECT_EQ(testing::message_of<DataError>([&] { changed.open(); }),
            "f.spdnn: is corrupted: the table's checksum differs");
  file.patch(offsetof(packed::Header, version), std::uint32_t{2});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { file.open(); }),
            "f.spdnn: has version 2 of the packed format; expected version 1");
  file.patch(offsetof(packed::Header, byte_order), std::uint32_t{0x04030201});
  EXPECT_NE(testing::message_of<DataError>([&] { file.open(); }).find("byte order"), std::string::npos);
}

TEST(Packed, WhatIsNoNetworkIsNotWritten) {
  const TemporaryDirectory directory;
  const auto path = directory / "n.spdnn";
  Network network = stored_network();
  network.layers[1].weights.values = Array<float>({0.5F, 1, 2, std::numeric_limits<float>::quiet_NaN()});
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed_network(path, network); }),
            path.string() + ": cannot write: layer 2: a value is not finite");
  Plan plan = small_plan(stored_network());
  plan.expansion[0] = Array<Index>({0, 1, 2, 3});
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed(path, {.plan = &plan}); }),
            path.string() + ": cannot write: layer 1: its expansion refers to neurons that are not stored");
  for (const ImageSet& images :
       {ImageSet{matrix_of(3, {{0, 3}})}, ImageSet{matrix_of(3, {{0}}, {std::numeric_limits<float>::infinity()})}})
    EXPECT_NE(testing::message_of<DataError>([&] { write_packed_images(path, images); }).find(": cannot write: "),
              std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(testing::message_of<DataError>([&] { write_packed_network("/dev/full", stored_network()); }),
            "/dev/full: cannot write: No space left on device");
}

/// The seeds of the fuzzer were written by the first program with version 1; every later program must read them.
TEST(Packed, FilesOfVersionOneStayReadable) {
  const auto seeds = std::filesystem::path(__FILE__).parent_path() / "../../../fuzz/corpus/packed";
  const Network network = stored_network();
  expect_equal(read_packed_network(seeds / "network.spdnn", {}).network, network);
  expect_equal(read_packed_images(seeds / "images.spdnn", {}, {}).sparse(), small_images().sparse());
  expect_equal(read_packed_images(seeds / "bits.spdnn", {}, {}).to_csr(), small_bits().to_csr());
  expect_equal(read_plan(seeds / "plan.spdnn"), small_merged_plan(network));
  EXPECT_EQ(packed_contents(seeds / "network.spdnn").network_digest, network_digest(network));
}

TEST(NetworkDigest, IsTheNetworksOwn) {
  const Network network = stored_network();
  const auto changed = [&](const std::function<void(Network&)>& change) {
    Network other = network;
    change(other);
    return network_digest(other);
  };
  const std::uint64_t digest = network_digest(network);
  EXPECT_NE(digest, changed([](Network& n) { n.cap = 31; }));
  EXPECT_NE(digest, changed([](Network& n) { n.cap.reset(); }));
  EXPECT_NE(digest, changed([](Network& n) { n.bias_rule = BiasRule::everywhere; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers.pop_back(); }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[0].bias.uniform = -0.35; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[0].weights.value = 0.5F; }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[1].bias.values = Array<double>({-0.1, 0.3}); }));
  EXPECT_NE(digest, changed([](Network& n) { n.layers[2].weights.cols = 3; }));
  EXPECT_NE(digest, changed([](Network& n) {
              n.layers[0].weights.indices = Array<Index>({0, 2, 1, 2, 0, 1, 0, 2});  // summed in another order
            }));
  // The same numbers stored in another way.
  EXPECT_EQ(digest, changed([](Network& n) {
              n.layers[0].weights.values = Array<float>(std::vector<float>(8, 1.0F));
              n.layers[0].weights.value = 3.0F;
              n.layers[0].bias = {0.0, Array<double>(std::vector<double>(4, -0.3))};
              n.layers[2].weights.value = 5.0F;
            }));
}

}  // namespace
}  // namespace spdnn
