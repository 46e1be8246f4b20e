// Packed files of models: damage is refused in every place; files of networks are not accepted as models.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <limits>

#include "io/models/model_file.hpp"
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
using packed::SectionEntry;
using packed::TensorRecord;
using packed::TypedRecord;
using testing::ModelText;

/// Sparse and dense weights, biases, a batch norm.
Model some_model() {
  testing::Rng rng(3);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 6, 5});
  const ValueId y = builder.add(testing::random_convolution(rng, 3, 8, testing::same_window(3, 3), 0.2), {x});
  const ValueId z = builder.add(testing::random_norm(rng, 8), {y});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 240}}, {z});
  return builder.finish({builder.add(testing::random_linear(rng, 240, 3, 1), {flat})});
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
  std::size_t place_of(packed::Kind kind) const {
    for (const SectionEntry& entry : table())
      if (entry.kind == kind) return entry.offset;
    return 0;
  }
  /// The message if one number is replaced and all checksums are right.
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
  testing::Rng rng(5);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 1000});
  const Model sparse = builder.finish({builder.add(testing::random_linear(rng, 1000, 100, 0.1), {x})});
  const auto path = directory_ / "sparse.spdnn";
  write_packed_model(path, sparse);
  EXPECT_LT(file_size(path), 100U * 1000 / 10 * 6 + 3000);
  EXPECT_EQ(error_of(bytes_), "no error");
}

TEST_F(PackedModel, DenseWeightsOfSeveralBlocksAreReadAsWritten) {
  testing::Rng rng(6);
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 20011});  // a block ends within a row
  const Model given = builder.finish({builder.add(testing::random_linear(rng, 20011, 4, 1), {x})});
  write_packed_model(directory_ / "dense.spdnn", given);
  EXPECT_EQ(ModelText::of(read_packed_model(directory_ / "dense.spdnn"), false), ModelText::of(given, false));
}

/// Of a linear node with one output, or with several, each with a zero point or without.
TEST_F(PackedModel, ScalesOfInt8AreReadAsWritten) {
  for (const Index rows : {1U, 2U})
    for (const bool with_zero_points : {false, true}) {
      const testing::Rows all(rows, {{0, 3.F}, {2, -5.F}});
      TypedMatrix typed = typed_matrix(testing::make_matrix(3, all), Pattern::dense, DataType::i8);
      for (Index row = 0; row < rows; ++row) {
        typed.values.scales.push_back(0.25F * static_cast<float>(row + 1));
        if (with_zero_points) typed.values.zero_points.push_back(1);
      }
      testing::ModelBuilder builder;
      const ValueId x = builder.input({kBatchExtent, 3});
      const Model given = builder.finish({builder.add(Linear{Weights(typed), {}}, {x})});
      write_packed_model(directory_ / "int8.spdnn", given);
      const Model found = read_packed_model(directory_ / "int8.spdnn");
      const auto values_of = [](const Model& model) {
        const CsrMatrix& weights = std::get<Linear>(model.nodes[0].operation).weights;
        return dense_rows(weights, 0, weights.rows);
      };
      EXPECT_EQ(values_of(found), values_of(given)) << rows;
      EXPECT_NE(values_of(found).front(), 3) << "scaled";
    }
}

TEST_F(PackedModel, NothingElseStandsBesideAModel) {
  const std::vector<SectionEntry> entries = table();
  for (const packed::Kind kind : {packed::Kind::network, packed::Kind::images, packed::Kind::plan}) {
    std::vector<std::byte> bytes = bytes_;
    std::size_t data = 0;
    while (entries[data].kind != packed::Kind::data) ++data;
    std::memcpy(bytes.data() + sizeof(Header) + data * sizeof(SectionEntry) + offsetof(SectionEntry, kind), &kind,
                sizeof kind);
    const std::uint32_t contents = packed::kModel | 1U << (static_cast<std::uint32_t>(kind) - 1);
    std::memcpy(bytes.data() + offsetof(Header, contents), &contents, sizeof contents);
    packed::seal(bytes);
    EXPECT_EQ(error_of(bytes), "f.spdnn: is corrupted: it has other contents besides its model");
  }
}

TEST_F(PackedModel, CutShortAnywhereIsRefused) {
  std::vector<std::size_t> lengths{0, 7, sizeof(Header), bytes_.size() - 1};
  for (const SectionEntry& entry : table())
    lengths.insert(lengths.end(), {entry.offset, entry.offset + entry.bytes / 2, entry.offset + entry.bytes - 1});
  for (const std::size_t length : lengths) {
    std::vector<std::byte> cut(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(error_of(cut).starts_with("f.spdnn: is ")) << length;
    packed::seal(cut);  // valid checksums, so that the checks after them run
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
  const std::size_t graph = place_of(packed::Kind::model);
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
            "f.spdnn: has version 1 of the packed format; expected 2 to 6");
  EXPECT_EQ(with(offsetof(Header, version), packed::kVersionWithCode + 1),
            "f.spdnn: has version 7 of the packed format; expected 2 to 6");
  EXPECT_EQ(with(offsetof(Header, contents), packed::kModel | packed::kImages),
            "f.spdnn: is corrupted: its header does not match its sections");
}

TEST_F(PackedModel, ASectionThatNothingNamesIsRefused) {
  const std::size_t bias = place_of(packed::Kind::model) + sizeof(GraphRecord) + sizeof(TensorRecord);
  const auto section = at<TensorRecord>(bytes_, bias).numbers;
  EXPECT_EQ(with(bias + offsetof(TensorRecord, numbers), packed::kNone),
            "f.spdnn: is corrupted: section " + std::to_string(section) + " is not used");
}

/// Every number of every record, replaced by each of a few.
TEST_F(PackedModel, OddNumbersAreReadAsASoundModelOrRefused) {
  const std::size_t begin = place_of(packed::Kind::model);
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

/// Weights in other forms than fp32 matrices.
Model typed_model() {
  testing::ModelBuilder builder;
  const ValueId x = builder.input({kBatchExtent, 3, 6, 5});
  testing::Rows rows(8);
  for (Index row = 0; row < rows.size(); ++row)
    for (const Index tap : {row, (row + 4) % 9}) rows[row].emplace_back(9 + tap, static_cast<float>(row) + 1.5F);
  for (auto& row : rows) std::sort(row.begin(), row.end());
  Convolution convolution;
  convolution.window = testing::same_window(3, 3);
  convolution.weights = Weights(typed_matrix(testing::make_matrix(27, rows), Pattern::two_of_four, DataType::f16, 9));
  ValueId y = builder.add(convolution, {x});
  testing::Rows most(8);
  for (Index column = 0; column < 72; ++column)
    for (Index row = 0; row < 8; ++row)
      if ((row + column) % 3 != 0) most[row].emplace_back(column, 2.F + static_cast<float>(row));
  std::vector<Index> order;
  for (Index place = 0; place < 72; ++place) order.push_back(place * 3 % 8);
  convolution.weights =
      Weights(typed_matrix(testing::make_matrix(72, most), Pattern::two_of_four, DataType::f32, 9, order));
  y = builder.add(convolution, {y});
  const ValueId flat = builder.add(Reshape{{kBatchExtent, 240}}, {y});
  testing::Rows few(3);
  for (Index column = 0; column < 240; column += 7) few[column % 3].emplace_back(column, column % 2 == 0 ? 2.F : -3.F);
  Linear first;
  first.weights = Weights(with_palette(typed_matrix(testing::make_matrix(240, few), Pattern::csr, DataType::f32)));
  const ValueId z = builder.add(first, {flat});
  TypedMatrix quantised =
      typed_matrix(testing::make_matrix(3, {{{0, 5.F}, {1, -7.F}}, {{2, 1.F}}}), Pattern::dense, DataType::i8);
  quantised.values.scales = {0.1F, 0.3F};
  quantised.values.zero_points = {-3};
  Linear last;
  last.weights = Weights(quantised);
  Model model = builder.finish({builder.add(last, {z})});
  model.program = StoredProgram{"", "a program"};
  return model;
}

/// A packed model with weights in other forms.
class PackedTypedModel : public PackedModel {
 protected:
  PackedTypedModel() {
    write_packed_model(directory_ / "t.spdnn", typed_model());
    std::ifstream file(directory_ / "t.spdnn", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto view = std::as_bytes(std::span(text));
    bytes_.assign(view.begin(), view.end());
  }
  /// The offset of a typed tensor's record.
  std::size_t typed(std::size_t number) const {
    const std::size_t graph = place_of(packed::Kind::model);
    return graph + sizeof(GraphRecord) + at<GraphRecord>(bytes_, graph).tensors * sizeof(TensorRecord) +
           number * sizeof(TypedRecord);
  }
  std::size_t first_byte(std::size_t number) const {
    return table()[at<TypedRecord>(bytes_, typed(number)).numbers].offset;
  }
};

TEST_F(PackedTypedModel, KeepsTheFormOfWeights) {
  const Model given = typed_model();
  const Model read = read_packed_model(directory_ / "t.spdnn");
  EXPECT_EQ(ModelText::of(read, false), ModelText::of(given, false));
  ASSERT_TRUE(read.program.has_value());
  EXPECT_EQ(read.program->text, "a program");
  EXPECT_EQ(read.program->place, (directory_ / "t.spdnn").string() + ": program");
  for (std::size_t node = 0; node < given.nodes.size(); ++node) {
    const Weights* const found = weights_or_null(read.nodes[node].operation);
    const Weights* const expected = weights_or_null(given.nodes[node].operation);
    ASSERT_EQ(found == nullptr, expected == nullptr);
    if (found == nullptr) continue;
    EXPECT_EQ(found->form(), expected->form());
    EXPECT_EQ(found->bytes(), expected->bytes());
    ASSERT_NE(found->typed(), nullptr);
    EXPECT_EQ(found->typed()->values.scales, expected->typed()->values.scales);
    EXPECT_EQ(found->typed()->values.zero_points, expected->typed()->values.zero_points);
  }
}

TEST_F(PackedTypedModel, NoChangedBitGoesUnnoticed) {
  for (std::size_t place = 0; place < bytes_.size(); ++place) {
    std::vector<std::byte> changed = bytes_;
    changed[place] ^= std::byte{1} << place % 8;
    EXPECT_TRUE(error_of(changed).starts_with("f.spdnn: ")) << place;
  }
}

TEST_F(PackedTypedModel, CutShortAnywhereIsRefused) {
  for (std::size_t length = 0; length < bytes_.size(); length += 7) {
    std::vector<std::byte> cut(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_TRUE(error_of(cut).starts_with("f.spdnn: is ")) << length;
  }
}

TEST_F(PackedTypedModel, OddNumbersAreReadAsASoundModelOrRefused) {
  for (std::size_t place = place_of(packed::Kind::model); place + sizeof(std::uint32_t) <= bytes_.size();
       place += sizeof(std::uint32_t))
    for (const std::uint32_t number : {0U, 1U, 3U, 0x100U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
      const std::string error = with(place, number);
      EXPECT_TRUE(error == "no error" || error.starts_with("f.spdnn: ")) << error;
    }
}

TEST_F(PackedTypedModel, DamagedValuesAreRefusedWithTheirPlace) {
  const auto damaged = [&](std::size_t number, const std::string& name, const std::string& problem) {
    return "f.spdnn: is corrupted: tensor '" + name + ".weight', whose values begin at byte " +
           std::to_string(first_byte(number)) + ": " + problem;
  };
  const auto section = [&](std::uint32_t TypedRecord::*which, std::size_t number) {
    const TypedRecord record = at<TypedRecord>(bytes_, typed(number));
    return table()[record.*which].offset;
  };
  EXPECT_EQ(with(section(&TypedRecord::places, 0), std::uint8_t{0}),
            damaged(0, "node0", "row 1, inputs 1 to 4 at tap 1: places 0 and 0 do not ascend"));
  EXPECT_EQ(with(section(&TypedRecord::numbers, 0), std::uint16_t{0x7e00}),
            damaged(0, "node0", "number 1 is not finite"));
  EXPECT_EQ(with(section(&TypedRecord::order, 1), std::uint32_t{1}),
            damaged(1, "node1", "the order at tap 1 has input 2 twice, or there is none"));
  EXPECT_EQ(with(typed(0) + offsetof(TypedRecord, reserved_too), std::uint32_t{1}),
            "f.spdnn: is corrupted: tensor 'node0.weight': no columns, or an unknown number");
  EXPECT_EQ(with(section(&TypedRecord::scales, 3), std::numeric_limits<float>::quiet_NaN()),
            damaged(3, "node4", "scale nan, expected a positive number"));
  EXPECT_EQ(with(section(&TypedRecord::zero_points, 3), 200),
            damaged(3, "node4", "zero point 200, expected -128 to 127"));
  EXPECT_EQ(with(section(&TypedRecord::places, 2), std::uint64_t{1} << 60U),
            "f.spdnn: is corrupted: tensor 'node3.weight': a Huffman code is too short for its number of bytes");
  EXPECT_EQ(with(section(&TypedRecord::codes, 2), std::uint64_t{34}),
            "f.spdnn: is corrupted: tensor 'node3.weight': a Huffman code is damaged");
  EXPECT_EQ(with(typed(2) + offsetof(TypedRecord, rows), std::uint32_t{4}),
            "f.spdnn: is corrupted: tensor 'node3.weight': columns are missing");
  EXPECT_EQ(with(typed(2) + offsetof(TypedRecord, values), std::uint64_t{36}),
            damaged(2, "node3", "36 values, expected 35"));
  EXPECT_EQ(with(typed(2) + offsetof(TypedRecord, code_bits), std::uint8_t{5}),
            damaged(2, "node3", "codes of 5 bits, expected 1, 2, 4, 8 or 16"));
  EXPECT_EQ(with(typed(3) + offsetof(TypedRecord, type), std::uint8_t{9}),
            damaged(3, "node4", "an unknown type of values"));
  EXPECT_EQ(with(typed(3) + offsetof(TypedRecord, pattern), std::uint8_t{3}),
            damaged(3, "node4", "an unknown pattern"));
  const TypedRecord last = at<TypedRecord>(bytes_, typed(3));
  EXPECT_EQ(with(place_of(packed::Kind::model) + sizeof(GraphRecord) + last.tensor * sizeof(TensorRecord) +
                     offsetof(TensorRecord, numbers),
                 last.scales),
            "f.spdnn: is corrupted: tensor 'node4.weight': values with and without a type");
  EXPECT_EQ(with(typed(3) + offsetof(TypedRecord, tensor), std::uint32_t{0}),
            "f.spdnn: is corrupted: records of typed tensors do not ascend");
  EXPECT_EQ(with(offsetof(Header, version), packed::kOldestVersionOfModels),
            "f.spdnn: is corrupted: a file of version 2 has no typed tensors");
}

TEST_F(PackedTypedModel, AProgramStandsBesideAModelAlone) {
  const auto with_kind = [&](packed::Kind kind, std::uint32_t contents) {
    std::vector<std::byte> bytes = bytes_;
    const std::vector<SectionEntry> entries = table();
    for (std::size_t i = 0; i < entries.size(); ++i)
      if (entries[i].kind == kind) {
        const auto data = packed::Kind::data;
        std::memcpy(bytes.data() + sizeof(Header) + i * sizeof(SectionEntry) + offsetof(SectionEntry, kind), &data,
                    sizeof data);
      }
    std::memcpy(bytes.data() + offsetof(Header, contents), &contents, sizeof contents);
    packed::seal(bytes);
    return error_of(bytes);
  };
  EXPECT_EQ(with_kind(packed::Kind::program, packed::kModel).find("f.spdnn: is corrupted: section "), 0U)
      << "none uses it";
  EXPECT_EQ(with_kind(packed::Kind::program, packed::kModel | packed::kProgram),
            "f.spdnn: is corrupted: its header does not match its sections");
  EXPECT_EQ(with_kind(packed::Kind::model, packed::kProgram),
            "f.spdnn: has version 5 of the packed format; expected version 1");
}

/// A packed model with generated code for two nodes.
class PackedCode : public PackedModel {
 protected:
  PackedCode() {
    model_.code = {{std::string(32, '7'), bytes_of("some machine code")},
                   {"a0123456789abcdef0123456789abcde", bytes_of("more of it, for another node")}};
    write_packed_model(directory_ / "c.spdnn", model_);
    std::ifstream file(directory_ / "c.spdnn", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    bytes_ = bytes_of(text);
  }
  static std::vector<std::byte> bytes_of(const std::string& text) {
    const auto view = std::as_bytes(std::span(text));
    return {view.begin(), view.end()};
  }
  /// The offset of a record's field.
  std::size_t record(std::size_t number, std::size_t field) const {
    return place_of(packed::Kind::code) + number * sizeof(packed::CodeRecord) + field;
  }

  Model model_ = some_model();
};

TEST_F(PackedCode, IsReadAsWritten) {
  const Model read = read_packed_model(directory_ / "c.spdnn");
  EXPECT_EQ(ModelText::of(read, false), ModelText::of(model_, false));
  ASSERT_EQ(read.code.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.code[i].digest, model_.code[i].digest);
    EXPECT_TRUE(std::ranges::equal(read.code[i].bytes, model_.code[i].bytes));
  }
  EXPECT_EQ(at<Header>(bytes_, 0).version, packed::kVersionWithCode);
}

TEST_F(PackedCode, NoChangedBitGoesUnnoticed) {
  for (std::size_t place = 0; place < bytes_.size(); ++place) {
    std::vector<std::byte> changed = bytes_;
    changed[place] ^= std::byte{1} << place % 8;
    EXPECT_TRUE(error_of(changed).starts_with("f.spdnn: ")) << place;
  }
}

TEST_F(PackedCode, WhatRecordsClaimIsChecked) {
  using packed::CodeRecord;
  const std::size_t digest = offsetof(CodeRecord, digest);
  const std::size_t bytes = offsetof(CodeRecord, bytes);
  EXPECT_EQ(error_of(bytes_), "no error");
  EXPECT_EQ(with(record(1, digest), '6'), "f.spdnn: is corrupted: digests of code do not ascend");
  std::vector<std::byte> equal = bytes_;
  std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(record(0, digest)), sizeof(CodeRecord::digest),
              equal.begin() + static_cast<std::ptrdiff_t>(record(1, digest)));
  packed::seal(equal);
  EXPECT_EQ(error_of(equal), "f.spdnn: is corrupted: digests of code do not ascend");
  EXPECT_EQ(with(record(0, digest), 'A'),
            "f.spdnn: is corrupted: a digest of code is not hexadecimal, or an unknown number");
  EXPECT_EQ(with(record(1, offsetof(CodeRecord, reserved)), 1U),
            "f.spdnn: is corrupted: a digest of code is not hexadecimal, or an unknown number");
  EXPECT_EQ(with(record(1, bytes), packed::kNone), "f.spdnn: is corrupted: there is no section 4294967295");
  EXPECT_TRUE(
      with(record(1, bytes), at<std::uint32_t>(bytes_, record(0, bytes))).starts_with("f.spdnn: is corrupted: "))
      << "one section for two";
  EXPECT_EQ(with(offsetof(Header, version), packed::kVersionOfModels),
            "f.spdnn: is corrupted: a file of version 5 has no code");
  EXPECT_EQ(with(offsetof(Header, contents), std::uint32_t{packed::kModel}),
            "f.spdnn: is corrupted: its header does not match its sections");
  for (std::size_t place = record(0, 0); place + sizeof(std::uint32_t) <= record(2, 0); place += sizeof(std::uint32_t))
    for (const std::uint32_t number : {0U, 1U, 3U, 0x7FFFFFFFU, 0x80000000U, 0xFFFFFFFEU, 0xFFFFFFFFU}) {
      const std::string error = with(place, number);
      EXPECT_TRUE(error == "no error" || error.starts_with("f.spdnn: is corrupted: ")) << error;
    }
}

/// The seeds of the fuzzer were written by the first programs with models; every later program must read them.
const std::filesystem::path seeds_folder =
    std::filesystem::path(__FILE__).parent_path() / "../../../fuzz/corpus/packed_model";

TEST(PackedModels, FilesOfVersionTwoStayReadable) {
  EXPECT_EQ(ModelText::of(read_packed_model(seeds_folder / "some.spdnn"), false), ModelText::of(some_model(), false));
}

TEST(PackedModels, FilesOfVersionThreeStayReadable) {
  ASSERT_EQ(PackedFile(seeds_folder / "typed.spdnn").header().version, 3U);
  std::vector<std::string> forms;
  for (const Node& node : read_packed_model(seeds_folder / "typed.spdnn").nodes)
    if (const Weights* const weights = weights_or_null(node.operation)) forms.push_back(weights->form());
  EXPECT_EQ(forms, (std::vector<std::string>{"2:4 f16", "csr f32 palette of 2", "dense i8"}));
}

TEST(PackedModels, FilesOfVersionFourStayReadable) {
  ASSERT_EQ(PackedFile(seeds_folder / "codes.spdnn").header().version, 4U);
  std::vector<std::string> forms;
  for (const Node& node : read_packed_model(seeds_folder / "codes.spdnn").nodes)
    if (const Weights* const weights = weights_or_null(node.operation)) forms.push_back(weights->form());
  EXPECT_EQ(forms, (std::vector<std::string>{"dense f32 palette of 12", "csr f32 palette of 12",
                                             "csr f32 palette of 12", "csr f32 palette of 12"}));
}

TEST(PackedModels, FilesOfVersionsFiveAndSixStayReadable) {
  ASSERT_EQ(PackedFile(seeds_folder / "huffman.spdnn").header().version, 5U);
  EXPECT_EQ(ModelText::of(read_packed_model(seeds_folder / "huffman.spdnn"), false),
            ModelText::of(read_packed_model(seeds_folder / "codes.spdnn"), false));
  ASSERT_EQ(PackedFile(seeds_folder / "code.spdnn").header().version, 6U);
  const Model model = read_packed_model(seeds_folder / "code.spdnn");
  EXPECT_EQ(model.code.size(), 2U);
  EXPECT_EQ(ModelText::of(model, false), ModelText::of(read_packed_model(seeds_folder / "typed5.spdnn"), false));
}

}  // namespace
}  // namespace spdnn
