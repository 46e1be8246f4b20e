#include "io/arrays/npy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "io/arrays/image_tensor.hpp"
#include "io/arrays/npy_header.hpp"
#include "support/hostile_files.hpp"
#include "support/shared_data.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

class Npy : public ::testing::Test {
 protected:
  /// An .npy file as NumPy would write it.
  static std::string bytes(const std::string& dictionary, const std::string& numbers, char version = 1) {
    std::string file = std::string("\x93NUMPY", 6) + version + '\0';
    file += static_cast<char>(dictionary.size() & 0xffU);
    file += static_cast<char>(dictionary.size() >> 8U);
    if (version > 1) file += std::string(2, '\0');
    return file + dictionary + numbers;
  }
  static std::string dictionary(const std::string& type, const std::string& shape, bool by_columns = false) {
    return "{'descr': '" + type + "', 'fortran_order': " + (by_columns ? "True" : "False") + ", 'shape': " + shape +
           ", }\n";
  }
  std::filesystem::path file(const std::string& content) const { return written(directory_ / "array.npy", content); }
  static Tensor read_npy(const std::filesystem::path& path) { return read_npy_rows(InputFile(path)).tensor; }
  std::vector<float> floats(const std::string& type, const std::string& numbers, std::size_t count) const {
    const Tensor tensor = read_npy(file(bytes(dictionary(type, "(" + std::to_string(count) + ",)"), numbers)));
    EXPECT_EQ(tensor.shape, Shape{static_cast<Extent>(count)});
    return {tensor.values.begin(), tensor.values.end()};
  }
  void refuses(const std::string& content, std::string_view part) const {
    const auto path = file(content);
    expect_refused(path, part, [&] { read_npy(path); });
  }

  TemporaryDirectory directory_;
};

template <class T>
std::string raw_bytes(std::initializer_list<T> values, bool reversed = false) {
  std::string text;
  for (const T value : values) {
    std::string one(sizeof value, '\0');
    std::memcpy(one.data(), &value, sizeof value);
    text += reversed ? std::string(one.rbegin(), one.rend()) : one;
  }
  return text;
}

TEST_F(Npy, EveryTypeInBothByteOrders) {
  for (const bool big : {false, true}) {
    const std::string order = big ? ">" : "<";
    EXPECT_EQ(floats(order + "f4", raw_bytes({1.5F, -0.1F}, big), 2), (std::vector<float>{1.5F, -0.1F}));
    EXPECT_EQ(floats(order + "f8", raw_bytes({0.1, 1e300}, big), 2),
              (std::vector<float>{0.1F, std::numeric_limits<float>::infinity()}));
    EXPECT_EQ(floats(order + "i2", raw_bytes<std::int16_t>({-2, 300}, big), 2), (std::vector<float>{-2, 300}));
    EXPECT_EQ(floats(order + "u2", raw_bytes<std::uint16_t>({65535, 1}, big), 2), (std::vector<float>{65535, 1}));
    EXPECT_EQ(floats(order + "i4", raw_bytes<std::int32_t>({-70000, 16777217}, big), 2),
              (std::vector<float>{-70000, 16777216}));
    EXPECT_EQ(floats(order + "i8", raw_bytes<std::int64_t>({-1, 5}, big), 2), (std::vector<float>{-1, 5}));
    EXPECT_EQ(floats(order + "u8", raw_bytes<std::uint64_t>({1, 5}, big), 2), (std::vector<float>{1, 5}));
  }
  EXPECT_EQ(floats("|u1", "\x01\xff", 2), (std::vector<float>{1, 255}));
  EXPECT_EQ(floats("|i1", "\x01\xff", 2), (std::vector<float>{1, -1}));
  EXPECT_EQ(floats("|b1", std::string("\x01\x00", 2), 2), (std::vector<float>{1, 0}));
}

TEST_F(Npy, HalvesHaveTheirValues) {
  const std::vector<float> values = floats(
      "<f2", raw_bytes<std::uint16_t>({0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x83ff, 0x8000, 0x7c00, 0xfc00, 0x7e01}),
      10);
  const std::vector<float> expected{1, -2, 65504, 0x1p-14F, 0x1p-24F, -1023 * 0x1p-24F, -0.0F, INFINITY, -INFINITY};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(values[i], expected[i]) << i;
  EXPECT_TRUE(std::signbit(values[6]));
  EXPECT_TRUE(std::isnan(values[9]));
}

TEST_F(Npy, LargeArraysAreConvertedPieceByPiece) {
  std::string numbers(200'001, '\0');
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<char>(i % 251);
  const std::vector<float> values = floats("|u1", numbers, numbers.size());
  for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(values[i], static_cast<float>(i % 251));
}

TEST_F(Npy, ShapesVersionsAndSpellings) {
  const std::string six = raw_bytes({1.F, 2.F, 3.F, 4.F, 5.F, 6.F});
  for (const char version : {'\1', '\2', '\3'})
    EXPECT_EQ(read_npy(file(bytes(dictionary("<f4", "(2, 3)"), six, version))).shape, (Shape{2, 3}));
  const Tensor odd = read_npy(file(bytes(R"( {"shape" :( 2L,3L,), "descr":"=f4","fortran_order":False} )", six)));
  EXPECT_EQ(odd.shape, (Shape{2, 3}));
  EXPECT_EQ(odd.values[5], 6);
  EXPECT_EQ(read_npy(file(bytes(dictionary("<f4", "()"), raw_bytes({7.F})))).values[0], 7);
  std::string axes;
  for (int i = 0; i < 64; ++i) axes += "   1,";
  EXPECT_EQ(read_npy(file(bytes(dictionary("<f4", "(" + axes + ")"), raw_bytes({7.F})))).shape, Shape(64, 1))
      << "as many axes as NumPy has, in a header of more than 256 bytes";
  EXPECT_EQ(read_npy(file(bytes(dictionary("<f4", "(0, 9223372036854775807)"), ""))).values.size(), 0U);
}

TEST_F(Npy, ByColumns) {
  // a[i, j, k] = 100 i + 10 j + k, the first axis fastest.
  std::string numbers;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) numbers += raw_bytes<std::int32_t>({100 * i + 10 * j + k});
  const auto path = file(bytes(dictionary("<i4", "(2, 3, 4)", true), numbers));
  const Tensor tensor = read_npy(path);
  const IntegerTensor integers = read_npy_integers(InputFile(path));
  for (int i = 0, at = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k, ++at) {
        EXPECT_EQ(tensor.values[at], static_cast<float>(100 * i + 10 * j + k));
        EXPECT_EQ(integers.values[at], 100 * i + 10 * j + k);
      }
}

TEST_F(Npy, FirstRows) {
  const auto rows_of = [&](const std::string& shape, bool by_columns, std::optional<Index> most) {
    const auto path = file(bytes(dictionary("<i4", shape, by_columns), raw_bytes<std::int32_t>({1, 2, 3, 4, 5, 6})));
    return read_npy_rows(InputFile(path), most);
  };
  const auto values_of = [](const FirstRows& rows) {
    return std::vector<float>(rows.tensor.values.begin(), rows.tensor.values.end());
  };
  const FirstRows two = rows_of("(3, 2)", false, 2);
  EXPECT_EQ(values_of(two), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(two.tensor.shape, (Shape{2, 2}));
  EXPECT_EQ(two.available, 3);
  EXPECT_TRUE(is_whole(two.type));
  EXPECT_EQ(values_of(rows_of("(6,)", true, 1)), (std::vector<float>{1})) << "a list has one order";
  for (const std::optional<Index> most : {std::optional<Index>(), std::optional<Index>(3), std::optional<Index>(9)})
    EXPECT_EQ(values_of(rows_of("(3, 2)", false, most)).size(), 6U);
  const FirstRows by_columns = rows_of("(3, 2)", true, 1);
  EXPECT_EQ(values_of(by_columns), (std::vector<float>{1, 4, 2, 5, 3, 6})) << "whose rows are spread over the file";
  EXPECT_EQ(by_columns.tensor.shape, (Shape{3, 2}));
}

/// A sparse file of 1 TiB, which no machine holds in memory.
TEST_F(Npy, OfAFileLargerThanMemoryTheFirstRowsAreRead) {
  const std::string header = npy_header("<f4", {268435456, 1024});
  const auto path = file(header + raw_bytes<float>({1, 2, 3}));
  std::error_code refused;
  std::filesystem::resize_file(path, header.size() + (std::uintmax_t{1} << 40U), refused);
  if (refused) GTEST_SKIP() << "no file of 1 TiB here: " << refused.message();
  const FirstRows rows = read_npy_rows(InputFile(path), 2);
  EXPECT_EQ(rows.available, 268435456);
  EXPECT_EQ(rows.tensor.shape, (Shape{2, 1024}));
  EXPECT_EQ(rows.tensor.values[2], 3);
  ImageRequest request;
  request.shape = {kBatchExtent, 1024};
  request.images = 1;
  EXPECT_EQ(read_image_tensor(path, request).tensor.shape, (Shape{1, 1024}));
  EXPECT_EQ(read_image_tensor(path, request).available, 268435456U);
  const std::string more = npy_header("<f4", {3'000'000'000, 4});
  written(path, more);
  std::filesystem::resize_file(path, more.size() + 48'000'000'000U);
  request.shape = {kBatchExtent, 4};
  expect_refused(path, "3000000000 images, expected 1 to 2147483647", [&] { read_image_tensor(path, request); });
}

TEST_F(Npy, Integers) {
  const auto read = [&](const std::string& type, const std::string& numbers) {
    return read_npy_integers(InputFile(file(bytes(dictionary(type, "(1,)"), numbers)))).values[0];
  };
  EXPECT_EQ(read("<i8", raw_bytes({std::numeric_limits<std::int64_t>::min()})),
            std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read("|b1", "\x05"), 1);
  EXPECT_EQ(floats("|b1", std::string("\5\0\1\xff", 4), 4), (std::vector<float>{1, 0, 1, 1}));
  EXPECT_EQ(read(">u8", raw_bytes<std::uint64_t>({77}, true)), 77);
  const auto large = file(bytes(dictionary("<u8", "(1,)"), raw_bytes({std::numeric_limits<std::uint64_t>::max()})));
  expect_refused(large, "number 1 is 18446744073709551615, expected at most 9223372036854775807",
                 [&] { read_npy_integers(InputFile(large)); });
  const auto real = file(bytes(dictionary("<f4", "(1,)"), raw_bytes({1.F})));
  expect_refused(real, "type float32, expected integers", [&] { read_npy_integers(InputFile(real)); });
}

TEST_F(Npy, TheHeaderIsWrittenAsNumPyWritesIt) {
  const auto text = [](const Shape& shape) {
    const std::string header = npy_header("<f4", shape);
    EXPECT_EQ(header.substr(0, 8), std::string("\x93NUMPY\1\0", 8));
    EXPECT_EQ(header.size(), 128U);
    EXPECT_EQ(header.substr(8, 2), std::string("\x76\0", 2));
    EXPECT_EQ(header.back(), '\n');
    return header.substr(10, header.find_last_not_of(" \n") - 9);
  };
  EXPECT_EQ(text({}), "{'descr': '<f4', 'fortran_order': False, 'shape': (), }");
  EXPECT_EQ(text({5}), "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }");
  EXPECT_EQ(text({5, 60}), "{'descr': '<f4', 'fortran_order': False, 'shape': (5, 60), }");
  EXPECT_EQ(text({1, 2, 3, 4}), "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3, 4), }");
}

TEST_F(Npy, WrittenIsRead) {
  Shape many(64, 1);  // whose header has more than 255 bytes
  many[0] = 10;
  for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{1, 2, 3, 4}, Shape{0, 3}, many}) {
    std::vector<float> values(*elements(shape));
    std::vector<std::int64_t> integers(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) integers[i] = -(std::int64_t{1} << (i + 30));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0.1F * static_cast<float>(i) - 1;
    const auto path = directory_ / "out.npy";
    write_npy(path, Tensor{shape, values});
    const Tensor tensor = read_npy(path);
    EXPECT_EQ(tensor.shape, shape);
    EXPECT_EQ(std::vector<float>(tensor.values.begin(), tensor.values.end()), values);
    EXPECT_EQ(read_npy_header(InputFile(path)).numbers.offset % 64, 0U) << "numbers are aligned, as NumPy has them";
    write_npy(path, IntegerTensor{shape, integers});
    const IntegerTensor again = read_npy_integers(InputFile(path));
    EXPECT_EQ(again.shape, shape);
    EXPECT_EQ(std::vector<std::int64_t>(again.values.begin(), again.values.end()), integers);
  }
}

TEST_F(Npy, WhatIsNoArrayOfNumbersIsRefused) {
  const std::string one = raw_bytes({1.F});
  const std::string whole = bytes(dictionary("<f4", "(1,)"), one);
  refuses("", "does not begin with");
  refuses("PK\3\4 and so on, a zip archive", "does not begin with");
  for (const std::size_t size : {6U, 9U, 11U, 12U, 40U}) refuses(whole.substr(0, size), "ends within the .npy header");
  refuses(bytes(dictionary("<f4", "(1,)"), one, '\4'), "version 4.0 of .npy, expected 1.0, 2.0 or 3.0");
  std::string long_header = bytes(dictionary("<f4", "(1,)"), one, '\2');
  long_header[10] = '\1';
  refuses(long_header, "an .npy header of 65594 bytes, expected at most 65535");
  refuses(bytes(dictionary("|O", "(1,)"), one), "pickled Python objects");
  refuses(bytes("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", one), "an array of structures");
  for (const char* type : {"<c8", "<U4", "f4", "", "|f4", "<f16", "<M8[ns]", "!f4", "<f", "<f44"})
    refuses(bytes(dictionary(type, "(1,)"), one), std::string("numbers of type '") + type + "', expected");
  refuses(bytes("{'descr': '<f4', 'shape': (1,)}", one), "lacks one of");
  refuses(bytes("{'descr': '<f4', 'order': 'C'}", one), "has 'order'");
  refuses(bytes("{'descr': '<f4'", one), "byte 16 of the .npy header's dictionary, expected ',' or '}'");
  refuses(bytes("{'descr", one), "a closing quote");
  refuses(bytes("{'fortran_order': 1}", one), "True or False");
  refuses(bytes(dictionary("<f4", "(1,)") + "x", one), "nothing after");
  for (const char* shape : {"(-1,)", "(1.5,)", "(9223372036854775808,)", "(1 2)", "[1]", "1", "(1,,)"})
    refuses(bytes(dictionary("<f4", shape), one), "of the .npy header's dictionary, expected");
}

TEST_F(Npy, ShapesThatLieAreRefused) {
  const std::string one = raw_bytes({1.F});
  refuses(bytes(dictionary("<f4", "(1,)"), one.substr(1)),
          "holds 3 bytes of numbers, expected 1 numbers of 4 bytes each for a shape of 1");
  refuses(bytes(dictionary("<f4", "(1,)"), one + "x"), "holds 5 bytes of numbers, expected 1");
  refuses(bytes(dictionary("<f4", "(1000000, 1000000)"), one), "for a shape of 1000000 x 1000000");
  refuses(bytes(dictionary("<f4", "(4294967296, 4294967296, 4)"), one), "exceeds the address space");
  refuses(bytes(dictionary("<f4", "(9223372036854775807,)"), one), "exceeds the address space");
  refuses(bytes(dictionary("<f4", "(0,)"), one), "expected 0 numbers");
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1,";
  refuses(bytes(dictionary("<f4", "(" + axes + ")"), one), "at most 64 axes");
}

TEST_F(Npy, WhatIsNoFileIsRefused) {
  expect_refused(directory_ / "absent.npy", "No such file", [&] { read_npy(directory_ / "absent.npy"); });
  expect_refused(directory_.path(), "is a directory", [&] { read_npy(directory_.path()); });
}

TEST_F(Npy, NumbersAreFinite) {
  EXPECT_NO_THROW(require_finite("place", std::vector<float>{1, -2}));
  for (const float value : {NAN, INFINITY, -INFINITY})
    EXPECT_THROW(require_finite("place", std::vector<float>{1, value}), DataError);
}

}  // namespace
}  // namespace spdnn
