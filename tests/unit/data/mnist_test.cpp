#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "data/generate.hpp"
#include "spdnn/error.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

class Mnist : public ::testing::Test {
 protected:
  Mnist() { fs::create_directories(folder_); }
  ~Mnist() override { fs::remove_all(folder_); }

  static std::string idx(std::uint8_t images, std::size_t pixels) {
    std::string bytes{'\0', '\0', '\x08', '\x03', '\0', '\0', '\0', static_cast<char>(images),
                      '\0', '\0', '\0',   '\x1c', '\0', '\0', '\0', '\x1c'};
    for (std::size_t p = 0; p < pixels; ++p) bytes += static_cast<char>(p % 251);
    return bytes;
  }
  fs::path plain(const std::string& bytes) const {
    const fs::path path = folder_ / "idx";
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  fs::path zipped(const std::string& bytes) const {
    const fs::path path = folder_ / "idx.gz";
    gzFile file = gzopen(path.c_str(), "wb");
    gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(file);
    return path;
  }
  static void expect_error(const fs::path& path, const std::string& part) {
    try {
      read_mnist(path);
      FAIL() << "expected an error with: " << part;
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).rfind(path.string() + ":"), 0U) << "named once: " << error.what();
    }
  }

  fs::path folder_ = fs::temp_directory_path() / ("spdnn-mnist-" + std::to_string(getpid()));
};

TEST_F(Mnist, PlainAndZippedAreTheSame) {
  for (const fs::path& path : {plain(idx(2, 2 * 784)), zipped(idx(2, 2 * 784))}) {
    const MnistImages images = read_mnist(path);
    EXPECT_EQ(images.count, 2U);
    ASSERT_EQ(images.pixels.size(), 2U * 784);
    EXPECT_EQ(images.pixels[784], 784 % 251);
  }
}

TEST_F(Mnist, WhatIsNoMnistIsRefused) {
  expect_error(folder_ / "absent", "cannot read: No such file or directory");
  expect_error(plain(""), "IDX header");
  expect_error(plain("a text file, no images at all"), "0x61207465");
  expect_error(plain(idx(2, 2 * 784 - 1)), "holds 1567 bytes of pixels, expected 1568");
  expect_error(plain(idx(2, 2 * 784 + 1)), "bytes after");
  expect_error(plain(idx(0, 0)), "0 images");
  std::string many = idx(1, 784);
  many[5] = '\x0f';
  expect_error(plain(many), "holds 784 bytes of pixels, expected 770704144 for 983041 images");
  expect_error(zipped(many), "holds 784 bytes of pixels, expected 770704144 for 983041 images");
  std::string wide = idx(1, 784);
  wide[15] = '\x1d';
  expect_error(plain(wide), "28 x 29");
  wide = idx(1, 784);
  wide[4] = '\x7f';
  expect_error(plain(wide), "expected 1..");
}

TEST_F(Mnist, BrokenGzipIsRefused) {
  const auto size = fs::file_size(zipped(idx(2, 2 * 784)));
  for (const std::uintmax_t lost : {1U, 4U, 8U, 9U, 100U}) {  // all of the trailer of eight bytes, or a part of it
    const fs::path path = zipped(idx(2, 2 * 784));
    fs::resize_file(path, size - lost);
    expect_error(path, "cut off");
  }
  const fs::path longer = zipped(idx(2, 2 * 784));
  std::ofstream(longer, std::ios::binary | std::ios::app) << "rubbish";
  expect_error(longer, "damaged or no gzip data");
  const fs::path again = zipped(idx(2, 2 * 784));
  std::fstream file(again, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(size) - 6);  // within the checksum
  file.put('?').flush();
  expect_error(again, "damaged or no gzip data (zlib: incorrect data check)");
}

}  // namespace
}  // namespace spdnn
