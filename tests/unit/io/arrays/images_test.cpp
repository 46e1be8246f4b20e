#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>

#include "io/arrays/idx.hpp"
#include "io/arrays/image_file.hpp"
#include "io/arrays/image_tensor.hpp"
#include "io/arrays/labels.hpp"
#include "io/arrays/npy.hpp"
#include "io/arrays/npy_header.hpp"
#include "io/networks/text/gz.hpp"
#include "support/hostile_files.hpp"
#include "support/message_of.hpp"
#include "support/shared_data.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

std::string from_hex(std::string_view hex) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : c - 'a' + 10; };
  std::string text;
  for (std::size_t i = 0; i < hex.size(); i += 2) text += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return text;
}

// Images of 2 x 3 by libjpeg at quality 100: grey 0, 40, 80; 120, 160, 200, then all (200, 100, 50), then four inks.
const std::string grey_jpeg = from_hex(
    "ffd8ffdb0043000101010101010101010101010101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101ffc0000b080002000301011100ffc400140001000000000000"
    "00000000000000000009ffc4001d100001020700000000000000000000000007040800172836475466ffda0008010100"
    "003f00541b0b586c5204594e407b5d3e211f6ca9e7a3ffd9");
const std::string colour_jpeg = from_hex(
    "ffd8ffdb0043000101010101010101010101010101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101ffdb0043010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101010101010101010101010101010101010101010101ffc00011"
    "080002000303011100021101031101ffc40014000100000000000000000000000000000006ffc4001410010000000000"
    "0000000000000000000000ffc40014010100000000000000000000000000000009ffc400141101000000000000000000"
    "00000000000000ffda000c03010002110311003f003e2bcd83ffd9");
const std::string inks_jpeg = from_hex(
    "ffd8ffdb0043000101010101010101010101010101010101010101010101010101010101010101010101010101010101"
    "0101010101010101010101010101010101010101010101ffc000140800020003044311004d11005911004b1100ffc400"
    "1500010100000000000000000000000000000908ffc40020100000040603000000000000000000000000060708020938"
    "77b5b8347678ffda000e0443004d0059004b00003f0015e6175bee8ef21c7211051a58945699f72705b1cad0944e1c44"
    "a7cd2d375852302bcc2eb7dd1de438e4221fffd9");

std::string big_endian(std::uint32_t number) {
  std::string bytes;
  for (const unsigned shift : {24U, 16U, 8U, 0U}) bytes += static_cast<char>(number >> shift);
  return bytes;
}

std::string chunk(const std::string& name, const std::string& data) {
  const std::string both = name + data;
  const auto checksum = ::crc32(0, reinterpret_cast<const Bytef*>(both.data()), static_cast<uInt>(both.size()));
  return big_endian(static_cast<std::uint32_t>(data.size())) + both + big_endian(static_cast<std::uint32_t>(checksum));
}

/// A PNG image; `rows` has a filter byte of 0 in front of each row. Colour types: 0 grey, 2 colours, 3 palette, 6
/// alpha.
std::string png(Index height, Index width, int depth, int colour, const std::string& rows, const std::string& more = "",
                char interlaced = '\0') {
  std::string packed(compressBound(static_cast<uLong>(rows.size())), '\0');
  uLongf size = static_cast<uLongf>(packed.size());
  compress(reinterpret_cast<Bytef*>(packed.data()), &size, reinterpret_cast<const Bytef*>(rows.data()),
           static_cast<uLong>(rows.size()));
  packed.resize(size);
  const std::string header = big_endian(width) + big_endian(height) + static_cast<char>(depth) +
                             static_cast<char>(colour) + std::string(2, '\0') + interlaced;
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", header) + more + chunk("IDAT", packed) + chunk("IEND", "");
}

class ImageTensors : public ::testing::Test {
 protected:
  static std::string text(std::initializer_list<int> bytes) {
    std::string all;
    for (const int byte : bytes) all += static_cast<char>(byte);
    return all;
  }
  static std::vector<float> list(const Array<float>& values) { return {values.begin(), values.end()}; }
  std::vector<float> read(const std::filesystem::path& path, const ImageRequest& request) const {
    const ImageTensor images = read_image_tensor(path, request);
    Shape shape = request.shape;
    shape[0] = images.tensor.shape[0];
    EXPECT_EQ(images.tensor.shape, shape);
    return list(images.tensor.values);
  }
  static ImageRequest of(Shape shape) {
    ImageRequest request;
    request.shape = std::move(shape);
    return request;
  }
  void refuses(const std::filesystem::path& path, std::string_view part, const ImageRequest& request) const {
    expect_refused(path, part, [&] { read_image_tensor(path, request); });
  }
  /// Two images of 2 x 3 with pixels 0, 1, ..., 11.
  std::filesystem::path idx(bool zipped = false) const {
    const std::string content = big_endian(0x803) + big_endian(2) + big_endian(2) + big_endian(3) +
                                text({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255});
    return written(directory_ / (zipped ? "images.gz" : "images"), zipped ? gzip(content) : content);
  }

  static inline const Shape grey_images{kBatchExtent, 1, 2, 3};
  static inline const Shape colour_images{kBatchExtent, 3, 2, 3};
  TemporaryDirectory directory_;
};

TEST_F(ImageTensors, IdxPlainAndZipped) {
  for (const bool zipped : {false, true}) {
    EXPECT_EQ(read(idx(zipped), of(grey_images)), (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
    EXPECT_EQ(read(idx(zipped), of({kBatchExtent, 6})).size(), 12U) << "a model of flat vectors";
  }
  ImageRequest one = of(grey_images);
  one.images = 1;
  for (const bool zipped : {false, true}) {
    EXPECT_EQ(read(idx(zipped), one), (std::vector<float>{0, 1, 2, 3, 4, 5}));
    EXPECT_EQ(read_image_tensor(idx(zipped), one).available, 2U);
  }
  const std::string whole = text_of_file(idx());
  const std::string zipped = gzip(std::string(whole).replace(7, 1, "\xff") + std::string(6 * 253, '\7'));
  EXPECT_EQ(read_image_tensor(written(directory_ / "many", zipped), one).available, 255U);
  refuses(written(directory_ / "cut", whole.substr(0, whole.size() - 1)), "holds 11 bytes of pixels, expected 12", one);
  refuses(written(directory_ / "cut", gzip(whole.substr(0, whole.size() - 1))), "holds 11 bytes of pixels", one);
  refuses(written(directory_ / "cut", whole + "x"), "has bytes after its 2 images", one);
  refuses(written(directory_ / "cut", zipped.substr(0, zipped.size() - 9)), "cut off", one);
  one.images = 3;
  refuses(idx(), "2 images, expected 3 to", one);
  refuses(idx(), "images of 2 x 3, expected 1 x 3 x 2", of({kBatchExtent, 1, 3, 2}));
  refuses(idx(), "images of 2 x 3, expected 3 x 2 x 3", of(colour_images));
}

TEST_F(ImageTensors, DarkImagesAreReadHoweverFewBytesTheyAreZippedTo) {
  const std::string dark = big_endian(0x803) + big_endian(1000) + big_endian(20) + big_endian(30);
  const std::string zipped = gzip(dark + std::string(1000 * 20 * 30, '\0'));
  ASSERT_LT(zipped.size() * 258, 1000U * 20 * 30);
  const std::vector<float> values = read(written(directory_ / "dark", zipped), of({kBatchExtent, 1, 20, 30}));
  EXPECT_EQ(values, std::vector<float>(1000 * 20 * 30));
}

TEST_F(ImageTensors, TheLengthsOfAnIdxFileHaveFourBytes) {
  const auto path = written(directory_ / "header", big_endian(0x803) + big_endian(0x01020304) + big_endian(0x05060708) +
                                                       big_endian(0x090a0b0c) + "pixels");
  EXPECT_EQ(IdxFile(path, IdxFile::Kind::images).extents(), (std::vector<Index>{0x01020304, 0x05060708, 0x090a0b0c}));
  expect_refused(path, "states 16909060 images of 84281096 x 151653132, which exceeds the address space",
                 [&] { IdxFile(path, IdxFile::Kind::images).read(); });
}

TEST_F(ImageTensors, TheFirstImagesOfMore) {
  const std::string content =
      big_endian(0x803) + big_endian(3) + big_endian(1) + big_endian(2) + text({0, 1, 2, 3, 4, 5});
  for (const bool zipped : {false, true}) {
    const auto path = written(directory_ / "three", zipped ? gzip(content) : content);
    for (const Index images : {1U, 2U, 3U}) {
      ImageRequest request = of({kBatchExtent, 1, 1, 2});
      request.images = images;
      const std::vector<float> values = read(path, request);
      ASSERT_EQ(values.size(), 2 * images);
      for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(values[i], static_cast<float>(i));
    }
  }
}

/// Writes to the file while `read` has it open.
void expect_change_noticed(const std::filesystem::path& path, const std::function<std::function<void()>()>& open) {
  const auto read = open();
  std::filesystem::last_write_time(path, std::filesystem::last_write_time(path) + std::chrono::seconds(2));
  expect_refused(path, "changed while it was being read: it was written to", read);
}

TEST_F(ImageTensors, AFileThatIsWrittenToWhileItIsReadIsRefused) {
  const auto images = idx();
  expect_change_noticed(images, [&] {
    const auto file = std::make_shared<IdxFile>(images, IdxFile::Kind::images);
    return [file] { file->read(); };
  });
  const auto array = directory_ / "x.npy";
  write_npy(array, IntegerTensor{{2, 2}, std::vector<std::int64_t>{1, 2, 3, 4}});
  expect_change_noticed(array, [&] {
    const auto file = std::make_shared<InputFile>(array);
    return [file] { read_npy_integers(*file); };
  });
  expect_change_noticed(array, [&] {
    const auto file = std::make_shared<InputFile>(array);
    return [file] { read_npy_rows(*file, 1); };
  });
  const auto picture = written(directory_ / "x.png", png(2, 3, 8, 0, text({0, 0, 1, 1, 0, 1, 0, 0})));
  expect_change_noticed(picture, [&] {
    const auto file = std::make_shared<InputFile>(picture);
    return [file] { read_image_file(*file, 2, 3); };
  });
  const auto damaged = idx(true);
  std::filesystem::resize_file(damaged, std::filesystem::file_size(damaged) - 9);
  expect_change_noticed(damaged, [&] {
    const auto file = std::make_shared<IdxFile>(damaged, IdxFile::Kind::images);
    return [file] { file->read(); };
  });
}

TEST_F(ImageTensors, ScaledPixelsThatAreNotFiniteAreRefused) {
  ImageRequest request = of(grey_images);
  request.preprocessing.divide = {5e-37F};  // 255 becomes 5.1e38
  refuses(idx(), ": image 2: number 6 is 255 and becomes inf when it is scaled, expected a finite fp32 number",
          request);
  request.images = 1;
  EXPECT_EQ(read(idx(), request).size(), 6U);
  request.images.reset();
  request.preprocessing.divide = {-1e-40F};
  refuses(idx(), ": image 1: number 2 is 1 and becomes -inf", request);
  request.preprocessing = {{-3e38F}, {0.5F}, false};
  refuses(idx(), ": image 1: number 1 is 0 and becomes inf", request);
  request.preprocessing = {{0}, {1e-39F}, true};
  refuses(idx(), ": image 2: number 6 is 255 and becomes inf", request);
}

TEST_F(ImageTensors, PreprocessingIsFp32StepByStep) {
  ImageRequest request = of(grey_images);
  request.preprocessing.subtract = {73};
  request.preprocessing.divide = {90};
  std::vector<float> values = read(idx(), request);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(values[i], (static_cast<float>(i) - 73.0F) / 90.0F);
  request.preprocessing = {{0.3F}, {0.7F}, true};
  values = read(idx(), request);
  for (int i = 0; i < 11; ++i) EXPECT_EQ(values[i], (static_cast<float>(i) / 255.0F - 0.3F) / 0.7F);

  for (const bool unit : {false, true}) {
    const auto problem = [&](const std::vector<float>& subtract, const std::vector<float>& divide) {
      request.preprocessing = {subtract, divide, unit};
      return testing::message_of<UsageError>([&] { read_image_tensor(idx(), request); });
    };
    const std::string less = unit ? "mean" : "subtract";
    const std::string by = unit ? "std" : "divide";
    EXPECT_EQ(problem({1, 2}, {}), less + ": 2 numbers, expected one, or one for each of 1 channels");
    EXPECT_EQ(problem({}, {1, 2}), by + ": 2 numbers, expected one, or one for each of 1 channels");
    EXPECT_EQ(problem({NAN}, {}), less + ": expected finite numbers");
    EXPECT_EQ(problem({}, {INFINITY}), by + ": expected finite numbers");
    EXPECT_EQ(problem({}, {0}), by + ": expected no zero");
  }
}

TEST_F(ImageTensors, AChannelHasItsOwnMeanAndDivisor) {
  const auto path = directory_ / "x.npy";
  std::vector<float> values(36);
  std::iota(values.begin(), values.end(), 0.F);
  write_npy(path, Tensor{{2, 3, 2, 3}, values});
  ImageRequest request = of(colour_images);
  const auto expect = [&](const std::vector<float>& subtract, const std::vector<float>& divide) {
    request.preprocessing.subtract = subtract;
    request.preprocessing.divide = divide;
    const std::vector<float> made = read(path, request);
    for (std::size_t i = 0; i < made.size(); ++i) {
      const std::size_t c = i / 6 % 3;
      const float less = subtract.empty() ? 0 : subtract[subtract.size() == 1 ? 0 : c];
      const float by = divide.empty() ? 1 : divide[divide.size() == 1 ? 0 : c];
      EXPECT_EQ(made[i], (values[i] - less) / by) << i;
    }
  };
  expect({}, {2, 4, 8});
  expect({7}, {2, 4, 8});
  expect({1, 10, 100}, {8});
  expect({1, 10, 100}, {3, 5, 7});
  for (const std::vector<float>& list : {std::vector<float>{1, 2}, {1, 2, 3, 4}}) {
    request.preprocessing = {list, {}, false};
    EXPECT_THROW(read_image_tensor(path, request), UsageError);
    request.preprocessing = {{}, list, false};
    EXPECT_THROW(read_image_tensor(path, request), UsageError);
  }
}

TEST_F(ImageTensors, AFlatVectorHasOneChannel) {
  const auto path = directory_ / "x.npy";
  write_npy(path, Tensor{{1, 2}, std::vector<float>{3, 5}});
  ImageRequest request = of({kBatchExtent, 2});
  request.preprocessing.subtract = {1};
  EXPECT_EQ(read(path, request), (std::vector<float>{2, 4}));
  request.preprocessing.subtract = {1, 2};
  EXPECT_THROW(read_image_tensor(path, request), UsageError);
}

TEST_F(ImageTensors, OnlyPixelsAboveOneLookUnscaled) {
  for (const char brightest : {'\1', '\2'}) {
    const auto path = written(directory_ / "pixels", big_endian(0x803) + big_endian(1) + big_endian(2) + big_endian(3) +
                                                         text({0, 1, 0, 1, 0}) + brightest);
    EXPECT_EQ(read_image_tensor(path, of(grey_images)).notes.size(), brightest > 1 ? 1U : 0U);
  }
  const auto array = directory_ / "x.npy";
  write_npy(array, Tensor{{1, 2, 3}, std::vector<float>(6, 255)});
  EXPECT_TRUE(read_image_tensor(array, of(grey_images)).notes.empty()) << "numbers that are no pixels";
  write_npy(array, IntegerTensor{{1, 2, 3}, std::vector<std::int64_t>(6, 255)});
  const std::vector<std::string> notes = read_image_tensor(array, of(grey_images)).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_TRUE(notes[0].starts_with(array.string() + ": pixels go in as they are stored, unscaled")) << notes[0];
}

TEST_F(ImageTensors, AnArrayInMemoryHasTheNumbersOfItsShape) {
  const ImageTensor taken = image_tensor("images", {{2, 2, 3}, std::vector<float>(12, 3)}, grey_images);
  EXPECT_EQ(taken.tensor.shape, (Shape{2, 1, 2, 3}));
  for (const std::size_t size : {11U, 13U})
    expect_refused("images", std::to_string(size) + " numbers for 2 x 2 x 3", [&] {
      image_tensor("images", {{2, 2, 3}, std::vector<float>(size, 3)}, grey_images);
    });
}

TEST_F(ImageTensors, ArraysInBothLayouts) {
  const auto path = directory_ / "x.npy";
  std::vector<float> values(36);
  std::iota(values.begin(), values.end(), 0.F);
  write_npy(path, Tensor{{2, 3, 2, 3}, values});
  ImageRequest request = of(colour_images);
  EXPECT_EQ(read(path, request), values);
  request.preprocessing.subtract = {0, 100, 200};
  EXPECT_EQ(read(path, request)[35], 35 - 200);
  EXPECT_EQ(read(path, request)[24], 24 - 100);

  write_npy(path, Tensor{{2, 2, 3, 3}, values});
  request = of(colour_images);
  request.layout = ImageLayout::channels_last;
  const std::vector<float> moved = read(path, request);
  for (int image = 0, at = 0; image < 2; ++image)
    for (int c = 0; c < 3; ++c)
      for (int p = 0; p < 6; ++p, ++at) EXPECT_EQ(moved[at], static_cast<float>((image * 6 + p) * 3 + c));

  write_npy(path, Tensor{{6, 2, 3}, values});
  EXPECT_EQ(read(path, of(grey_images)), values) << "axes of length 1 may be left out";
  refuses(path, "images of 2 x 3, expected 3 x 2 x 3", of(colour_images));
  write_npy(path, Tensor{{3, 4, 2}, std::vector<float>(24)});
  refuses(path, "as the model takes them; its channels are last, which is layout nhwc", of({kBatchExtent, 2, 4}));
  request = of({kBatchExtent, 4, 2});
  request.layout = ImageLayout::channels_last;
  refuses(path, "as the model takes them; its channels are first, which is layout nchw", request);
  write_npy(path, Tensor{{3, 8}, std::vector<float>(24)});
  expect_refused(path, "images of 8, expected 2 x 4", [&] { read_image_tensor(path, of({kBatchExtent, 2, 4})); });
  write_npy(path, Tensor{{0, 2, 3}, std::vector<float>{}});
  refuses(path, "holds no images", of(grey_images));
  write_npy(path, Tensor{{1, 2, 3}, std::vector<float>{1, 2, NAN, 4, 5, 6}});
  refuses(path, "number 3 is nan", of(grey_images));
  write_npy(path, Tensor{{}, std::vector<float>{1}});
  refuses(path, "a single number", of(grey_images));
}

TEST_F(ImageTensors, MeanIsOfBytesButNotOfFloats) {
  const auto path = directory_ / "x.npy";
  ImageRequest request = of({kBatchExtent, 2});
  request.preprocessing.bytes_to_unit = true;
  write_npy(path, Tensor{{1, 2}, std::vector<float>{0.5F, 1}});
  EXPECT_EQ(read(path, request), (std::vector<float>{0.5F, 1}));
  write_npy(path, IntegerTensor{{1, 2}, std::vector<std::int64_t>{51, 255}});
  EXPECT_EQ(read(path, request), (std::vector<float>{0.2F, 1}));
  write_npy(path, IntegerTensor{{1, 2}, std::vector<std::int64_t>{51, 256}});
  refuses(path, "number 2 is 256, expected 0 to 255", request);
  write_npy(path, IntegerTensor{{1, 2}, std::vector<std::int64_t>{-1, 255}});
  refuses(path, "number 1 is -1, expected 0 to 255", request);
  write_npy(path, Tensor{{1, 2}, std::vector<float>{-1, 256}});
  EXPECT_EQ(read(path, request), (std::vector<float>{-1, 256})) << "no bytes";
}

TEST_F(ImageTensors, TokensBecomeRowsOfTheTable) {
  const auto path = directory_ / "tokens.npy";
  ImageRequest request = of({kBatchExtent, 2, 3});
  request.table = directory_ / "table.npy";
  request.preprocessing.divide = {16};
  write_npy(request.table, Tensor{{4, 2}, std::vector<float>{0, 1, 10, 11, 20, 21, 30, 31}});
  write_npy(path, IntegerTensor{{2, 3}, std::vector<std::int64_t>{3, 0, 1, 2, 2, 2}});
  EXPECT_EQ(read(path, request), (std::vector<float>{30 / 16.F, 0, 10 / 16.F, 31 / 16.F, 1 / 16.F, 11 / 16.F, 20 / 16.F,
                                                     20 / 16.F, 20 / 16.F, 21 / 16.F, 21 / 16.F, 21 / 16.F}));
  request.images = 1;
  EXPECT_EQ(read(path, request).size(), 6U);
  EXPECT_EQ(read_image_tensor(path, request).available, 2U);
  write_npy(path, IntegerTensor{{1, 3}, std::vector<std::int64_t>{3, 4, 1}});
  refuses(path, "token 2 is 4, expected 0 to 3", request);
  write_npy(path, IntegerTensor{{1, 3}, std::vector<std::int64_t>{3, 0, -1}});
  refuses(path, "token 3 is -1, expected 0 to 3", request);
  write_npy(path, IntegerTensor{{1, 4}, std::vector<std::int64_t>{3, 1, 1, 1}});
  refuses(path, "images of 2 x 4, expected 2 x 3", request);
  write_npy(path, IntegerTensor{{4}, std::vector<std::int64_t>{3, 1, 1, 1}});
  refuses(path, "tokens of 4, expected images x length", request);
  write_npy(request.table, Tensor{{2}, std::vector<float>{0, 1}});
  expect_refused(request.table, "a table of 2, expected tokens x channels", [&] { read_image_tensor(path, request); });
}

TEST_F(ImageTensors, DirectoriesInTheOrderOfNames) {
  const auto folder = directory_ / "photos";
  std::filesystem::create_directory(folder);
  const std::string grey = text({0, 1, 2, 3, 0, 4, 5, 6});
  written(folder / "b.png", png(2, 3, 8, 0, grey));
  written(folder / "a.PNG", png(2, 3, 1, 0, text({0, 0x40, 0, 0xa0})));
  written(folder / ".hidden", "");
  EXPECT_EQ(read(folder, of(grey_images)), (std::vector<float>{0, 255, 0, 255, 0, 255, 1, 2, 3, 4, 5, 6}));
  ImageRequest one = of(grey_images);
  one.images = 1;
  EXPECT_EQ(read(folder, one).size(), 6U);
  EXPECT_EQ(read_image_tensor(folder, one).available, 2U);
  ImageRequest three = one;
  three.images = 3;
  refuses(folder, "2 images, expected 3 to 2147483647", three);
  EXPECT_EQ(read_image_tensor(folder, one).notes.size(), 1U) << "on pixels that are not scaled";
  one.preprocessing.bytes_to_unit = true;
  EXPECT_EQ(read(folder, one), (std::vector<float>{0, 1, 0, 1, 0, 1}));
  EXPECT_TRUE(read_image_tensor(folder, one).notes.empty());
  one.preprocessing = {};
  one.preprocessing.subtract = {127.5F};
  EXPECT_TRUE(read_image_tensor(folder, one).notes.empty());
  one.preprocessing = {};
  one.preprocessing.divide = {255};
  EXPECT_TRUE(read_image_tensor(folder, one).notes.empty());

  for (const char* name : {"c.jpeg", "d.JPG"}) written(folder / name, grey_jpeg);
  EXPECT_EQ(read(folder, of(grey_images)).size(), 24U);
  for (const char* name : {"c.jpeg", "d.JPG"}) std::filesystem::remove(folder / name);

  const std::string colours = text({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 11, 12, 13, 14, 15, 16, 17, 18, 19});
  written(folder / "c.png", png(2, 3, 8, 2, colours));
  const std::vector<float> planes = read(folder, of(colour_images));
  EXPECT_EQ(planes[18 + 0], 1);
  EXPECT_EQ(planes[18 + 6], 1) << "a grey image has the same in all channels";
  EXPECT_EQ((std::vector<float>(planes.begin() + 36, planes.end())),
            (std::vector<float>{1, 4, 7, 11, 14, 17, 2, 5, 8, 12, 15, 18, 3, 6, 9, 13, 16, 19}));
  const std::vector<std::filesystem::path> named{folder / "c.png", folder / "b.png"};
  ImageRequest unlike = of(colour_images);
  EXPECT_EQ(list(read_pictures(named, unlike).tensor.values).at(6), 2);
  unlike.preprocessing.subtract = {1, 2, 3, 4};
  EXPECT_THROW(read_pictures(named, unlike), UsageError) << "a mean for each of four channels";
  expect_refused(folder / "c.png", "an image in colour", [&] { read_image_tensor(folder, of(grey_images)); });
  refuses(folder, "images of 1 or 3 channels, but the model takes 2 x 2 x 3", of({kBatchExtent, 2, 2, 3}));

  written(folder / "notes.txt", "");
  expect_refused(folder / "notes.txt", "expected only .png", [&] { read_image_tensor(folder, of(colour_images)); });
  std::filesystem::remove(folder / "notes.txt");
  written(folder / "d.png", png(3, 2, 8, 0, std::string(9, '\0')));
  expect_refused(folder / "d.png",
                 "an image of 3 x 2, expected 2 x 3 (height x width); nothing is scaled here, but ImageMagick does: "
                 "convert IN -resize 3x2! OUT.png",
                 [&] { read_image_tensor(folder, of(colour_images)); });
  written(folder / "d.png", png(2, 4, 8, 0, std::string(10, '\0')));
  expect_refused(folder / "d.png", "an image of 2 x 4, expected 2 x 3",
                 [&] { read_image_tensor(folder, of(colour_images)); });
  std::filesystem::create_directory(directory_ / "empty");
  refuses(directory_ / "empty", "holds no .png, .jpg or .jpeg file", of(grey_images));
}

TEST_F(ImageTensors, PngFormsAndDamage) {
  const auto path = directory_ / "x.png";
  const auto decode = [&](const std::string& content) {
    return read_image_file(InputFile(written(path, content)), 2, 3);
  };
  const auto refused = [&](const std::string& content, std::string_view part) {
    expect_refused(path, part, [&] { decode(content); });
  };
  const std::string rows = text({0, 0, 1, 1, 0, 1, 0, 0});
  const Pixels palette = decode(png(2, 3, 8, 3, rows, chunk("PLTE", text({9, 8, 7, 200, 201, 202}))));
  EXPECT_EQ(palette.channels, 3U);
  EXPECT_EQ(palette.values[3], 200);
  // A gamma value does not change the samples.
  EXPECT_EQ(decode(png(2, 3, 8, 0, text({0, 10, 20, 30, 0, 40, 50, 60}), chunk("gAMA", big_endian(100000)))).values,
            (std::vector<std::uint8_t>{10, 20, 30, 40, 50, 60}));
  // Adam7: the first pixel, that two to the right, the one between them, and then the second row.
  EXPECT_EQ(decode(png(2, 3, 8, 0, text({0, 10, 0, 30, 0, 20, 0, 40, 50, 60}), "", '\1')).values,
            (std::vector<std::uint8_t>{10, 20, 30, 40, 50, 60}));
  refused(png(2, 3, 16, 0, std::string(14, '\0')), "16 bits per sample");
  refused(png(2, 3, 8, 6, std::string(26, '\0')), "has transparency");
  refused(png(2, 3, 8, 0, rows, chunk("tRNS", text({0, 1}))), "has transparency");
  refused(png(1'000'000, 1'000'000, 8, 0, rows), "an image of 1000000 x 1000000, expected 2 x 3");
  const std::string whole = png(2, 3, 8, 0, rows);
  refused(whole.substr(0, 20), "damaged: it is cut off");
  refused(whole.substr(0, whole.size() - 14), "damaged: it is cut off");
  refused(whole.substr(0, whole.size() - 12), "damaged: it is cut off");  // after all rows
  std::string changed = whole;
  changed[whole.find("IDAT") + 8] ^= 1;
  refused(changed, "damaged: ");
  refused(png(2, 3, 8, 0, rows.substr(0, 6)), "damaged: ");
  refused("GIF89a", "neither a PNG nor a JPEG image");
  refused("", "neither a PNG nor a JPEG image");
}

TEST_F(ImageTensors, JpegFormsAndDamage) {
  const auto path = directory_ / "x.jpg";
  const auto decode = [&](const std::string& content) {
    return read_image_file(InputFile(written(path, content)), 2, 3);
  };
  const Pixels grey = decode(grey_jpeg);
  EXPECT_EQ(grey.channels, 1U);
  for (int i = 0; i < 6; ++i) EXPECT_NEAR(grey.values[i], 40 * i, 2);
  EXPECT_EQ(read(path, of(grey_images)), (std::vector<float>(grey.values.begin(), grey.values.end())))
      << "one picture, by its content";
  const Pixels colour = decode(colour_jpeg);
  EXPECT_EQ(colour.channels, 3U);
  for (int i = 0; i < 18; ++i) EXPECT_NEAR(colour.values[i], i % 3 == 0 ? 200 : i % 3 == 1 ? 100 : 50, 2);
  // Adobe's marker says that the three components are not those of YCbCr, but RGB themselves.
  const std::string as_rgb = from_hex("ffee000e41646f626500640000000000");
  const Pixels untransformed = decode(colour_jpeg.substr(0, 2) + as_rgb + colour_jpeg.substr(2));
  EXPECT_EQ(untransformed.channels, 3U);
  for (int i = 0; i < 18; ++i) EXPECT_NEAR(untransformed.values[i], i % 3 == 0 ? 124 : i % 3 == 1 ? 86 : 182, 2);
  const auto refused = [&](const std::string& content, std::string_view part) {
    expect_refused(path, part, [&] { decode(content); });
  };
  refused(inks_jpeg, "a CMYK image");
  for (const std::size_t size : {3U, 30U, 120U}) refused(grey_jpeg.substr(0, size), "damaged: ");
  refused(grey_jpeg.substr(0, grey_jpeg.size() - 10), "damaged: ");
  expect_refused(path, "an image of 2 x 3, expected 3 x 2",
                 [&] { read_image_file(InputFile(written(path, grey_jpeg)), 3, 2); });
}

TEST_F(ImageTensors, Labels) {
  const std::vector<Index> expected{3, 0, 9};
  const auto text_file = directory_ / "labels.txt";
  EXPECT_EQ(read_labels(written(text_file, "3\n0\r\n9"), 3, 10), expected);
  EXPECT_EQ(read_labels(written(text_file, "3\n0\n9\n"), 3, 10), expected);
  const auto array = directory_ / "labels.npy";
  write_npy(array, IntegerTensor{{3, 1}, std::vector<std::int64_t>{3, 0, 9}});
  EXPECT_EQ(read_labels(array, 3, 10), expected);
  const std::string idx = big_endian(0x801) + big_endian(3) + text({3, 0, 9});
  const auto idx_file = directory_ / "labels";
  EXPECT_EQ(read_labels(written(idx_file, idx), 3, 10), expected);
  EXPECT_EQ(read_labels(written(idx_file, gzip(idx)), 3, 10), expected);

  const auto refused = [&](const std::filesystem::path& path, std::string_view part, Index images, Index classes) {
    expect_refused(path, part, [&] { read_labels(path, images, classes); });
  };
  for (const auto& path : {text_file, array, idx_file}) {
    refused(path, "3 labels, expected 4, one for each image", 4, 10);
    refused(path, "3 labels, expected 2", 2, 10);
  }
  refused(text_file, ":3: label 9, expected 0 to 8", 3, 9);
  refused(array, "number 3 is label 9, expected 0 to 8", 3, 9);
  write_npy(array, IntegerTensor{{1}, std::vector<std::int64_t>{-1}});
  refused(array, "number 1 is label -1", 1, 10);
  write_npy(array, IntegerTensor{{1, 3}, std::vector<std::int64_t>{3, 0, 9}});
  refused(array, "an array of 1 x 3, expected one label per image", 3, 10);
  write_npy(array, Tensor{{1}, std::vector<float>{1}});
  refused(array, "expected integers", 1, 10);
  refused(written(text_file, "3\n\n9\n"), ":2:1: expected one whole number per line", 3, 10);
  refused(written(text_file, "3\n4 5\n"), ":2:2: expected one whole number per line", 2, 10);
  refused(written(text_file, "99999999999999999999\n"), ":1:", 1, 10);
  refused(written(idx_file, idx + "x"), "has bytes after its 3 labels", 3, 10);
  refused(written(idx_file, idx.substr(0, 9)), "holds 1 bytes of labels, expected 3 for 3 labels", 3, 10);
  refused(written(idx_file, idx.substr(0, 7)), "ends within the IDX header of 8 bytes", 3, 10);
  refused(written(idx_file, big_endian(0x803) + big_endian(3)), "expected 0x00000801 (IDX labels)", 3, 10);
  refused(directory_.path(), "is a directory", 3, 10);
}

TEST_F(ImageTensors, MnistItself) {
  if (!exists(shared_mnist())) GTEST_SKIP() << shared_mnist() << " is not there";
  ImageRequest request = of({kBatchExtent, 1, 28, 28});
  request.images = 2;
  request.preprocessing.divide = {255};
  const ImageTensor images = read_image_tensor(shared_mnist(), request);
  EXPECT_EQ(images.available, 60000U);
  EXPECT_EQ(images.tensor.values.size(), 2U * 784);
}

}  // namespace
}  // namespace spdnn
