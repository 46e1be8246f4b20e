#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "io/packed/file.hpp"
#include "io/packed/image_layout.hpp"
#include "packed_seal.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "support/packed_samples.hpp"

namespace spdnn {
namespace {

using testing::Bytes;
using testing::matrix_of;
using testing::OneThread;
using testing::row_of_values;
using testing::section_of;
using testing::small_bits;
using testing::small_images;
using testing::small_merged_plan;
using testing::small_plan;
using testing::stored_network;

TEST(Packed, EveryChangedByteIsNoticed) {
  const OneThread one_thread;
  const Network network = stored_network();
  const ImageSet images = small_images();
  const Plan plan = small_merged_plan(network);
  Bytes file({.network = &network, .images = &images, .plan = &plan});
  const auto load_all = [&] {
    const PackedFile opened = file.open();
    load_network(opened, {});
    load_images(opened);
    load_plan(opened);
  };
  EXPECT_NO_THROW(load_all());
  for (std::size_t at = 0; at < file.bytes.size(); ++at) {
    const auto flip = std::byte{1} << at % 8;
    file.bytes[at] ^= flip;
    EXPECT_THROW(load_all(), DataError) << "byte " << at;
    file.bytes[at] ^= flip;
  }
}

TEST(Packed, EveryCutIsNoticed) {
  const OneThread one_thread;
  const Network network = stored_network();
  const Bytes file({.network = &network});
  EXPECT_NO_THROW(file.open());
  for (std::size_t size = 0; size < file.bytes.size(); ++size) {
    const std::string error = testing::message_of<DataError>([&] { file.open(size); });
    EXPECT_NE(error.find(size < 8 ? "f.spdnn: is " : "is cut short"), std::string::npos) << size << ": " << error;
  }
  Bytes longer = file;
  longer.bytes.resize(file.bytes.size() + 1);
  EXPECT_EQ(
      testing::message_of<DataError>([&] { longer.open(); }),
      fmt::format("f.spdnn: is cut short or too long: {} bytes, expected {}", longer.bytes.size(), file.bytes.size()));
}

constexpr const char* kRefusals = R"(f.spdnn: # inputs, expected at most # in # bytes, or an explicit number
f.spdnn: has another byte order or is corrupted; expected a little-endian packed file
f.spdnn: has version # of the packed format; expected # to #
f.spdnn: has version # of the packed format; expected version #
f.spdnn: is corrupted: a record names a section of records
f.spdnn: is corrupted: images: # entries, expected # in each of # rows
f.spdnn: is corrupted: images: a column is outside #..#
f.spdnn: is corrupted: images: a neuron is outside #..#
f.spdnn: is corrupted: images: a value is not finite
f.spdnn: is corrupted: images: a value outside the palette
f.spdnn: is corrupted: images: empty rows without offsets
f.spdnn: is corrupted: images: it refers to a section that its values do not need
f.spdnn: is corrupted: images: its value is not finite
f.spdnn: is corrupted: images: more than #^#-# rows or columns
f.spdnn: is corrupted: images: offsets descend or lead outside the matrix
f.spdnn: is corrupted: invalid record of images
f.spdnn: is corrupted: it continues after its last section
f.spdnn: is corrupted: its description: an unknown bias rule
f.spdnn: is corrupted: its description: cap is not positive
f.spdnn: is corrupted: its description: not as long as its layers need
f.spdnn: is corrupted: its header does not match its sections
f.spdnn: is corrupted: its header does not match the layers or edges of its network
f.spdnn: is corrupted: its plan: a certificate begins after the last layer
f.spdnn: is corrupted: its plan: an error bound is negative or not a number
f.spdnn: is corrupted: its plan: expected one error bound for each layer
f.spdnn: is corrupted: its plan: its in-order plan belongs to another network
f.spdnn: is corrupted: its plan: its in-order plan has different passes
f.spdnn: is corrupted: its plan: its inputs differ from the network's
f.spdnn: is corrupted: its plan: layer #: its expansion is missing
f.spdnn: is corrupted: its plan: layer #: its expansion refers to neurons that are not stored
f.spdnn: is corrupted: its plan: layer #: its in-order plan has different biases
f.spdnn: is corrupted: its plan: layer #: its in-order plan has different neurons
f.spdnn: is corrupted: its plan: rows at the cap are certified to stay there from too early a layer
f.spdnn: is corrupted: layer #: # entries, expected # in each of # rows
f.spdnn: is corrupted: layer #: # inputs, expected #
f.spdnn: is corrupted: layer #: a bias is not finite
f.spdnn: is corrupted: layer #: a column is outside #..#
f.spdnn: is corrupted: layer #: a value is not finite
f.spdnn: is corrupted: layer #: a value outside the palette
f.spdnn: is corrupted: layer #: bias is not finite
f.spdnn: is corrupted: layer #: it refers to a section that its values do not need
f.spdnn: is corrupted: layer #: its value is not finite
f.spdnn: is corrupted: layer #: more than #^#-# rows or columns
f.spdnn: is corrupted: layer #: offsets descend or lead outside the matrix
f.spdnn: is corrupted: layer #: row # holds column # twice, expected once
f.spdnn: is corrupted: layer #: values of # bytes, expected #, #, # or #
f.spdnn: is corrupted: more than #^#-# images or neurons
f.spdnn: is corrupted: section # has # bytes, expected # numbers of # bytes
f.spdnn: is corrupted: section # has an unexpected kind
f.spdnn: is corrupted: section # is at an unexpected offset
f.spdnn: is corrupted: section # is used twice
f.spdnn: is corrupted: the gap before section # is not zero
f.spdnn: is corrupted: the plan has unknown passes
f.spdnn: is corrupted: the table of sections leads outside the file
f.spdnn: is corrupted: there is no section #
f.spdnn: is not a packed spdnn file: its first bytes differ
f.spdnn: its plan has a different bias rule or cap from its network
f.spdnn: its plan has different numbers of neurons from its network
f.spdnn: its plan is for # edges, expected the network's #
f.spdnn: its plan was made for another network (digest #, expected #)
no error
)";
constexpr const char* kRefusalsByNumber = R"(a bit is set beyond the last neuron
a neuron is out of range, or occurs twice
a value outside the palette
f.spdnn: has another byte order or is corrupted; expected a little-endian packed file
f.spdnn: has version # of the packed format; expected # to #
f.spdnn: has version # of the packed format; expected version #
f.spdnn: is corrupted: images: # entries, expected # in each of # rows
f.spdnn: is corrupted: images: a value is not finite
f.spdnn: is corrupted: images: empty rows without offsets
f.spdnn: is corrupted: images: it refers to a section that its values do not need
f.spdnn: is corrupted: images: its value is not finite
f.spdnn: is corrupted: images: offsets descend or lead outside the matrix
f.spdnn: is corrupted: its header does not match its sections
f.spdnn: is corrupted: its images have too many or too few entries
f.spdnn: is corrupted: more than #^#-# images or neurons, or no neurons
f.spdnn: is corrupted: section # has # bytes, expected # numbers of # bytes
f.spdnn: is corrupted: section # has an unexpected kind
f.spdnn: is corrupted: section # is at an unexpected offset
f.spdnn: is corrupted: the gap before section # is not zero
f.spdnn: is corrupted: the table of sections leads outside the file
f.spdnn: is corrupted: there is no section #
f.spdnn: is not a packed spdnn file: its first bytes differ
no error
)";

/// Loads what the file holds; what loads is sound.
void load_all(const PackedFile& file) {
  load_network(file, {}).network.validate();
  load_images(file).to_csr().validate();
  if (!file.find(packed::Kind::plan)) return;
  const Plan plan = load_plan(file);
  Network{plan.layers, plan.bias_rule, plan.cap}.validate();
}

/// The images one by one, as ranks load those that are dealt to them.
void load_by_number(const PackedFile& file) {
  const PackedImageLayout layout = read_image_layout(file);
  std::vector<Index> ids(layout.images);
  std::iota(ids.begin(), ids.end(), Index{0});
  read_some_images(file, layout, ids).to_csr().validate();
}

/// Decimal and hexadecimal numbers are one sign each.
std::string without_numbers(const std::string& text) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string left;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find_first_not_of(kDigits, at), text.size());
    const bool word = text.find_first_of("0123456789", at) >= end && end - at < 16;
    left += word ? text.substr(at, std::max(end - at, std::size_t{1})) : "#";
    at = std::max(end, at + 1);
  }
  return left;
}

/// Changes one byte, or eight to ones (no finite number, no section), with right checksums, as a faulty or hostile
/// writer would make them, and adds why the files are refused, without numbers.
void add_refusals(const Bytes& file, void (*load)(const PackedFile&), std::set<std::string>& all) {
  for (std::size_t at = 0; at < file.bytes.size(); ++at)
    for (const int change : {0x01, 0xff, 0x100}) {
      if (change == 0x100 && at % 8 != 0) continue;
      Bytes changed = file;
      if (change == 0x100)
        std::fill_n(changed.bytes.begin() + static_cast<std::ptrdiff_t>(at), std::min(8UL, file.bytes.size() - at),
                    std::byte{0xff});
      else
        changed.bytes[at] ^= std::byte(change);
      packed::seal(changed.bytes);
      all.insert(without_numbers(testing::message_of<DataError>([&] { load(changed.open()); })));
    }
}

TEST(Packed, BehindTheChecksumsEverythingIsChecked) {
  const OneThread one_thread;
  const Network network = stored_network();
  const ImageSet bits = small_bits();
  const Plan plan = small_merged_plan(network);
  const ImageSet numbers = small_images();
  Network coded;
  coded.layers.push_back({row_of_values(6, 2), {}});
  std::set<std::string> all;
  add_refusals(Bytes({.network = &network, .images = &bits, .plan = &plan}), load_all, all);
  add_refusals(Bytes({.network = &coded, .images = &numbers}), load_all, all);
  EXPECT_EQ(fmt::format("{}\n", fmt::join(all, "\n")), kRefusals);
  all.clear();
  add_refusals(Bytes({.images = &numbers}), load_by_number, all);
  add_refusals(Bytes({.images = &bits}), load_by_number, all);
  EXPECT_EQ(fmt::format("{}\n", fmt::join(all, "\n")), kRefusalsByNumber);
}

TEST(Packed, FieldsThatNothingElseComparesAreChecked) {
  const Network network = stored_network();
  const Plan plan = small_plan(network);
  const Bytes sound({.network = &network, .plan = &plan});
  const PackedFile whole = sound.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::plan, "plan")).offset;
  const auto error_of = [&](std::size_t offset, auto value) {
    Bytes file = sound;
    file.patch(offset, value);
    packed::seal(file.bytes);
    return testing::message_of<DataError>([&] {
      const PackedFile opened = file.open();
      load_network(opened, {});
      load_plan(opened);
    });
  };
  for (const std::uint32_t layers : {2U, 4U})
    EXPECT_EQ(error_of(offsetof(packed::Header, layers), layers),
              "f.spdnn: is corrupted: its header does not match the layers or edges of its network");
  for (const Offset edges : {network.edges() - 1, network.edges() + 1})
    EXPECT_EQ(error_of(offsetof(packed::Header, edges), edges),
              "f.spdnn: is corrupted: its header does not match the layers or edges of its network");
  for (std::uint32_t section = 0; section < whole.sections(); ++section)
    EXPECT_EQ(error_of(sizeof(packed::Header) + section * sizeof(packed::SectionEntry) +
                           offsetof(packed::SectionEntry, reserved),
                       std::uint32_t{1}),
              fmt::format("f.spdnn: is corrupted: section {} has an unexpected kind", section));
  const std::size_t second = whole.entry(whole.require(packed::Kind::network, "network")).offset +
                             sizeof(packed::ChainRecord) + sizeof(packed::LayerRecord);
  EXPECT_EQ(error_of(second + offsetof(packed::LayerRecord, weights.cols), std::uint32_t{5}),
            "f.spdnn: is corrupted: layer 2: 5 inputs, expected 4");
  for (const std::size_t field : {offsetof(packed::ChainRecord, passes), offsetof(packed::ChainRecord, requested)}) {
    EXPECT_EQ(error_of(record + field, std::uint16_t{0x40}), "f.spdnn: is corrupted: the plan has unknown passes");
    EXPECT_EQ(error_of(record + field, std::uint16_t{0x8000}), "f.spdnn: is corrupted: the plan has unknown passes");
  }
}

TEST(Packed, ACapThatIsNoPositiveNumberIsRefused) {
  const Network network = stored_network();
  Bytes file({.network = &network});
  const PackedFile whole = file.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::network, "network")).offset;
  const auto error_of_cap = [&](double cap) {
    file.patch(record + offsetof(packed::ChainRecord, cap), cap);
    packed::seal(file.bytes);
    return testing::message_of<DataError>([&] { load_network(file.open(), {}); });
  };
  EXPECT_EQ(error_of_cap(*network.cap), "no error");
  for (const double cap : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
    EXPECT_EQ(error_of_cap(cap), "f.spdnn: is corrupted: its description: cap is not positive");
}

TEST(Packed, AValueOutsideThePaletteIsRefused) {
  Network network;
  network.layers.push_back({row_of_values(100, 3), {}});
  Bytes file({.network = &network});
  const PackedFile opened = file.open();
  for (std::uint32_t section = 0; section < opened.sections(); ++section)
    if (opened.entry(section).bytes == 100) file.patch(opened.entry(section).offset + 99, std::uint8_t{3});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: layer 1: a value outside the palette");
}

TEST(Packed, APaletteOfMoreValuesThanItsCodesTellApartIsRefused) {
  Network network;
  network.layers.push_back({row_of_values(3000, 257), {}});
  Bytes file({.network = &network});
  const PackedFile whole = file.open();
  const std::size_t record = whole.entry(whole.require(packed::Kind::network, "network")).offset;
  file.patch(record + sizeof(packed::ChainRecord) + offsetof(packed::MatrixRecord, value_bytes), std::uint32_t{1});
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: layer 1: a palette of 257 values, expected at most 256");
}

TEST(Packed, OffsetsThatDescendBetweenTwoBlocksAreRefused) {
  constexpr std::size_t kOffsets = packed::kBlockBytes / sizeof(Offset);  // of a block, checked alone
  std::vector<std::vector<Index>> rows(2 * kOffsets);
  rows.back() = {0, 2};
  Network network;
  network.layers.push_back({matrix_of(3, rows), {}});
  Bytes file({.network = &network});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
  const std::uint64_t offsets = section_of(file, (rows.size() + 1) * sizeof(Offset));
  file.patch(offsets + (kOffsets - 1) * sizeof(Offset), Offset{1});  // 0 ... 0 1 | 0 0 ... 0 2
  packed::seal(file.bytes);
  EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
            "f.spdnn: is corrupted: layer 1: offsets descend or lead outside the matrix");
}

TEST(Packed, ABitAfterTheLastNeuronIsRefusedInEveryBlock) {
  constexpr Index kImages = 30'000;  // of three words: blocks begin within images
  BitMatrix bits;
  bits.rows = kImages;
  bits.cols = 130;
  bits.words = Array<std::uint64_t>(std::vector<std::uint64_t>(std::size_t{3} * kImages, 3));
  const ImageSet images{bits};
  const Bytes sound({.images = &images});
  EXPECT_EQ(testing::message_of<DataError>([&] { load_images(sound.open()); }), "no error");
  const std::uint64_t words = section_of(sound, std::uint64_t{3} * kImages * sizeof(std::uint64_t));
  constexpr Index kSecond = packed::kBlockBytes / sizeof(std::uint64_t) / 3;  // which the second block cuts
  for (const Index image : {Index{0}, kSecond - 1, kSecond, kSecond + 1, kImages - 1}) {
    Bytes file = sound;
    file.patch(words + (std::uint64_t{3} * image + 2) * sizeof(std::uint64_t), std::uint64_t{4});
    packed::seal(file.bytes);
    EXPECT_EQ(testing::message_of<DataError>([&] { load_images(file.open()); }),
              "f.spdnn: is corrupted: images: a neuron is outside 1..130")
        << image;
  }
}

TEST(Packed, AColumnAfterTheLastIsRefusedInNarrowAndWideMatrices) {
  for (const Index cols : {70000U, 300U}) {
    const bool wide = cols > packed::kNarrowColumns;
    Network network;
    network.layers.push_back({matrix_of(cols, {{0, 7, cols - 1}, {}}), {}});
    Bytes file({.network = &network});
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }), "no error");
    const std::uint64_t columns = section_of(file, 3 * (wide ? sizeof(Index) : sizeof(std::uint16_t)));
    if (wide)
      file.patch(columns + 2 * sizeof(Index), cols);
    else
      file.patch(columns + 2 * sizeof(std::uint16_t), static_cast<std::uint16_t>(cols));
    packed::seal(file.bytes);
    EXPECT_EQ(testing::message_of<DataError>([&] { load_network(file.open(), {}); }),
              "f.spdnn: is corrupted: layer 1: a column is outside 1.." + std::to_string(cols));
  }
}

}  // namespace
}  // namespace spdnn
