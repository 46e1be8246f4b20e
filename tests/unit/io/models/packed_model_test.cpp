// Packed files of models: what is damaged is refused, wherever it is; what is for networks is told from models.

#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "io/models/model_form.hpp"
#include "io/models/packed/reader.hpp"
#include "io/models/packed/writer.hpp"
#include "io/packed/read_write.hpp"
#include "io/packed/stored_plan.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/hostile_files.hpp"
#include "support/matrix_builder.hpp"
#include "support/model_text.hpp"
#include "support/models.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

using packed::GraphRecord;
using packed::Header;
using packed::Kind;
using packed::SectionEntry;
using packed::TensorRecord;
using testing::ModelText;

/// Sparse and dense weights, biases, a batch norm.
Model some_model() {
  testing::Dice dice(3);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 6, 5});
  const ValueId y = builder.add(testing::random_convolution(dice, 3, 8, testing::same_window(3, 3), 0.2), {x});
  const ValueId z = builder.add(testing::random_norm(dice, 8), {y});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 240}}, {z});
  return builder.finish({builder.add(testing::random_linear(dice, 240, 3, 1), {flat})});
}

/// A packed model in memory, to be changed.
class PackedModel : public ::testing::Test {
 protected:
  PackedModel() {
    const auto path = directory_ / "m.spdnn";
    write_packed_model(path, some_model());
    std::ifstream file(path, std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto view = std::as_bytes(std::span(text));
    bytes_.assign(view.begin(), view.end());
  }

  static std::string error_of(const std::vector<std::byte>& bytes) {
    try {
      const std::shared_ptr<std::byte> copy = allocate_bytes(bytes.size());
      std::copy(bytes.begin(), bytes.end(), copy.get());
      read_packed_model(PackedFile("f.spdnn", copy, bytes.size()));
      return "no error";
    } catch (const DataError& error) {
      return error.what();
    }
  }
  template <class T>
  static T at(const std::vector<std::byte>& bytes, std::size_t place) {
    T value;
    std::memcpy(&value, bytes.data() + place, sizeof value);
    return value;
  }
  std::vector<SectionEntry> table() const {
    std::vector<SectionEntry> entries(at<Header>(bytes_, 0).sections);
    std::memcpy(entries.data(), bytes_.data() + sizeof(Header), entries.size() * sizeof(SectionEntry));
    return entries;
  }
  std::size_t place_of(Kind kind) const {
    for (const SectionEntry& entry : table())
      if (entry.kind == kind) return entry.offset;
    return 0;
  }
  /// The message where a number is another one and all checksums are right.
  template <class T>
  std::string with(std::size_t place, T value) const {
    std::vector<std::byte> bytes = bytes_;
    std::memcpy(bytes.data() + place, &value, sizeof value);
    packed::seal(bytes);
    return error_of(bytes);
  }

  TemporaryDirectory directory_;
  std::vector<std::byte> bytes_;
};

TEST_F(PackedModel, IsSmallerThanItsDenseForm) {
  testing::Dice dice(5);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1000});
  const Model sparse = builder.finish({builder.add(testing::random_linear(dice, 1000, 100, 0.1), {x})});
  const auto path = directory_ / "sparse.spdnn";
  write_packed_model(path, sparse);
  EXPECT_LT(file_size(path), 100U * 1000 / 10 * 6 + 3000);
  EXPECT_EQ(error_of(bytes_), "no error");
}

TEST_F(PackedModel, CutShortAnywhereIsRefused) {
  std::vector<std::size_t> lengths{0, 7, sizeof(Header), bytes_.size() - 1};
  for (const SectionEntry& entry : table())
    lengths.insert(lengths.end(), {entry.offset, entry.offset + entry.bytes / 2, entry.offset + entry.bytes - 1});
  for (const std::size_t length : lengths) {
    std::vector<std::byte> cut(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(error_of(cut).starts_with("f.spdnn: is ")) << length;
    packed::seal(cut);  // what is checked behind the checksums
    EXPECT_TRUE(error_of(cut).starts_with("f.spdnn: is ")) << length;
  }
}

TEST_F(PackedModel, NoChangedBitGoesUnnoticed) {
  for (std::size_t place = 0; place < bytes_.size(); ++place) {
    std::vector<std::byte> changed = bytes_;
    changed[place] ^= std::byte{1} << place % 8;
    EXPECT_TRUE(error_of(changed).starts_with("f.spdnn: ")) << place;
  }
}

TEST_F(PackedModel, WhatRecordsClaimIsChecked) {
  const std::size_t graph = place_of(Kind::model);
  const std::size_t tensor = graph + sizeof(GraphRecord);  // of the convolution's weights, which are sparse
  EXPECT_EQ(with(graph + offsetof(GraphRecord, tensors), 0xFFFFFFFFU),
            "f.spdnn: is corrupted: the model's description is not as long as its tensors need");
  EXPECT_EQ(with(graph + offsetof(GraphRecord, architecture), 99U), "f.spdnn: is corrupted: there is no section 99");
  EXPECT_EQ(with(tensor + offsetof(TensorRecord, name_bytes), 0x7FFFFFFFU),
            "f.spdnn: is corrupted: names of tensors are missing");
  EXPECT_EQ(with(tensor + offsetof(TensorRecord, matrix.rows), 0x7FFFFFFFU).find("f.spdnn: is corrupted: "), 0U);
  EXPECT_EQ(
      with(tensor + offsetof(TensorRecord, matrix.entries), std::uint64_t{1} << 60U).find("f.spdnn: is corrupted"), 0U);
  EXPECT_EQ(
      with(tensor + offsetof(TensorRecord, matrix.cols), 26U).find("f.spdnn: architecture: node 1 'node0': tensor "),
      0U);
  EXPECT_EQ(
      with(tensor + offsetof(TensorRecord, numbers), at<TensorRecord>(bytes_, tensor).matrix.offsets).find("f.spdnn: "),
      0U);
  EXPECT_EQ(with(tensor + offsetof(TensorRecord, matrix.palette), 0U),
            "f.spdnn: is corrupted: tensor 'node0.weight': it refers to a section that its values do not need");
  const std::size_t last = bytes_.size() - sizeof(TensorRecord);
  EXPECT_EQ(with(last + offsetof(TensorRecord, name_bytes), 3U), "f.spdnn: is corrupted: more names than tensors");
  const Header header = at<Header>(bytes_, 0);
  EXPECT_EQ(header.version, packed::kVersionOfModels);
  EXPECT_EQ(with(offsetof(Header, version), packed::kVersion),
            "f.spdnn: has version 1 of the packed format; expected version 2");
  EXPECT_EQ(with(offsetof(Header, contents), packed::kModel | packed::kImages),
            "f.spdnn: is corrupted: its header does not match its sections");
}

TEST_F(PackedModel, ASectionThatNothingNamesIsRefused) {
  const std::size_t bias = place_of(Kind::model) + sizeof(GraphRecord) + sizeof(TensorRecord);
  const auto section = at<TensorRecord>(bytes_, bias).numbers;
  EXPECT_EQ(with(bias + offsetof(TensorRecord, numbers), packed::kNone),
            "f.spdnn: is corrupted: section " + std::to_string(section) + " is not used");
}

/// Every number of every record, made to be each of a few.
TEST_F(PackedModel, OddNumbersAreReadAsASoundModelOrRefused) {
  const std::size_t begin = place_of(Kind::model);
  for (std::size_t place = begin; place < bytes_.size(); place += sizeof(std::uint32_t))
    for (const std::uint32_t number : {0U, 1U, 3U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
      const std::string error = with(place, number);
      EXPECT_TRUE(error == "no error" || error.starts_with("f.spdnn: ")) << error;
    }
}

TEST_F(PackedModel, TheArchitectureIsCheckedAsThatOfSafetensors) {
  const std::string text(reinterpret_cast<const char*>(bytes_.data()), bytes_.size());
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::vector<std::byte> bytes = bytes_;
    const std::size_t place = text.find(from);
    EXPECT_NE(place, std::string::npos);
    std::memcpy(bytes.data() + place, to.data(), to.size());
    packed::seal(bytes);
    return error_of(bytes);
  };
  EXPECT_EQ(replaced("\"linear\"", "\"unread\"").find("f.spdnn: architecture: node 4 'node3': op 'unread', expected "),
            0U);
  EXPECT_EQ(replaced("\"nodes\"", "\"nodes ").find("f.spdnn: architecture:"), 0U);
  EXPECT_EQ(replaced("\"cout\": 3", "\"cout\": 4"),
            "f.spdnn: architecture: node 4 'node3': tensor 'node3.weight' is 720 numbers, expected 4 x 240");
  EXPECT_EQ(replaced("node3.weight", "node4.weight"),
            "f.spdnn: architecture: node 4 'node3': there is no tensor 'node3.weight'");
  EXPECT_EQ(replaced("node3.bias", "node1.bias"), "f.spdnn: is corrupted: tensor 'node1.bias' occurs twice");
}

TEST_F(PackedModel, NetworksAndModelsAreToldApart) {
  const auto model = directory_ / "m.spdnn";
  const auto network = directory_ / "n.spdnn";
  Network one;
  MatrixBuilder builder(2);
  builder.add(1);
  builder.end_row();
  one.layers.push_back({builder.uniform(), {}});
  write_packed_network(network, one);
  const std::string instead = ", but a model; use it with infer --model, inspect or convert";
  expect_refused(model, "holds no network" + instead, [&] { read_packed_network(model, {}); });
  expect_refused(model, "holds no network" + instead, [&] { open_packed_network(model, {}); });
  expect_refused(model, "holds no images" + instead, [&] { read_packed_images(model, {}, {}); });
  expect_refused(model, "holds no plan" + instead, [&] { read_plan(model); });
  expect_refused(network, "holds no model, but a network or images", [&] { read_packed_model(network); });
  EXPECT_TRUE(holds_model(model));
  EXPECT_FALSE(holds_model(network));
  EXPECT_FALSE(holds_model(directory_ / "absent.spdnn"));
  EXPECT_TRUE(holds_model(directory_ / "absent.onnx"));
}

/// The seeds of the fuzzer were written by the first program with models; every later program must read them.
TEST(PackedModels, FilesOfVersionTwoStayReadable) {
  const auto seeds = std::filesystem::path(__FILE__).parent_path() / "../../../fuzz/corpus/packed_model";
  EXPECT_EQ(ModelText::of(read_packed_model(seeds / "some.spdnn"), false), ModelText::of(some_model(), false));
}

}  // namespace
}  // namespace spdnn
