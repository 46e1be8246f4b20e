#include "io/files/input_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string>

#include "io/files/claimed_size.hpp"
#include "io/networks/text/gz.hpp"
#include "io/networks/text/source.hpp"
#include "io/networks/text/tsv_reader.hpp"
#include "io/packed/file.hpp"
#include "io/packed/read_write.hpp"
#include "support/tsv_support.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;
using test::contents;
using test::error_of;

/// Overwrites bytes of a file in place, as `cp` onto an existing name does.
void overwrite(const fs::path& path, std::size_t offset, const std::string& text) {
  std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(static_cast<std::streamoff>(offset));
  file << text << std::flush;
}

std::string content_of(const InputFile& file) {
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

TEST(InputFile, SaysWhyAFileCannotBeRead) {
  const TemporaryDirectory directory;
  const auto attempt = [](const fs::path& path) { return error_of([&] { InputFile file(path); }); };
  const std::string place = directory.path().string();
  EXPECT_EQ(attempt(directory / "no"), place + "/no: cannot read: No such file or directory");
  EXPECT_EQ(attempt(directory.path()), place + ": cannot read: it is a directory, expected a file");
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(attempt(directory / "pipe"), place + "/pipe: cannot read: it is a pipe or device, expected a regular file");
}

TEST(ClaimedSize, IsBelievedUpToALimitThatGrowsWithTheFile) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8000}}) {
    const Index most = believed_size(bytes);
    EXPECT_EQ(most, (1U << 20U) + bytes / 8);
    EXPECT_EQ(error_of([&] { check_claimed_size("f", most, "neurons", bytes); }), "no error");
    EXPECT_EQ(error_of([&] { check_claimed_size("f", Offset{most} + 1, "neurons", bytes); }),
              "f: " + std::to_string(most + 1) + " neurons, expected at most " + std::to_string(most) + " in " +
                  std::to_string(bytes) + " bytes, or an explicit number");
  }
  EXPECT_EQ(believed_size(~std::size_t{0}), kMaxIndex);
}

/// A process's memory, which has no page at address 0, simulates a disk with a bad block.
TEST(InputFile, WhatCannotBeReadIsAnErrorAndNotTriedForever) {
  const InputFile file("/proc/self/mem");
  std::array<std::byte, 16> bytes{};
  EXPECT_EQ(error_of([&] { file.read(0, bytes); }), "/proc/self/mem: cannot read: Input/output error");
}

TEST(InputFile, NoticesWhateverChangesItsBytes) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  test::write(path, "");
  EXPECT_EQ(content_of(InputFile(path)), "");

  test::write(path, "some text");
  const InputFile shorter(path);
  fs::resize_file(path, 4);
  EXPECT_EQ(error_of([&] { content_of(shorter); }),
            path.string() + ": changed while it was being read: it ends after 4 of 9 bytes");
  EXPECT_EQ(error_of([&] { shorter.check_unchanged(); }),
            path.string() + ": changed while it was being read: it has 4 bytes, expected 9");

  test::write(path, "some text");
  const InputFile longer(path);
  fs::resize_file(path, 12);
  EXPECT_EQ(error_of([&] { longer.check_unchanged(); }),
            path.string() + ": changed while it was being read: it has 12 bytes, expected 9");

  for (int again = 0; again < 20; ++again) {  // also where both writes fall into one tick of the clock
    test::write(path, "some text");
    const InputFile other(path);
    overwrite(path, 0, "same size");
    EXPECT_EQ(error_of([&] { other.check_unchanged(); }),
              path.string() + ": changed while it was being read: it was written to");
  }
}

TEST(InputFile, AWriteShowsOnceTheClockHasTicked) {
  constexpr std::int64_t kModified = 1'700'000'000'000'000'000;
  constexpr std::int64_t kMillisecond = 1'000'000;
  EXPECT_TRUE(shows_later_writes(kModified, kModified + 1));
  EXPECT_FALSE(shows_later_writes(kModified, kModified));
  EXPECT_FALSE(shows_later_writes(kModified, kModified - 10 * kMillisecond));
  EXPECT_TRUE(shows_later_writes(kModified, kModified - 1000 * kMillisecond));
}

TEST(InputFile, BytesBeyondTheStatedSizeAreAnError) {
  const fs::path path = "/proc/version";  // has a stated size of 0 bytes
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || status.st_size != 0) GTEST_SKIP() << path << " states its size";
  const std::string expected =
      path.string() + ": holds more than the 0 bytes that the system reports, expected a regular file";
  EXPECT_EQ(error_of([&] { InputFile(path).check_unchanged(); }), expected);
  EXPECT_EQ(error_of([&] { text_of_file(path); }), expected);
  TextSource source(path);
  EXPECT_EQ(error_of([&] { source.next(80); }), expected);
}

TEST(InputFile, AnotherFileUnderItsNameIsNoChange) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  test::write(path, "old text");
  const InputFile file(path);
  test::write(directory / "b", "something new");
  fs::rename(directory / "b", path);
  EXPECT_EQ(content_of(file), "old text");
  EXPECT_EQ(error_of([&] { file.check_unchanged(); }), "no error");
}

/// Lines of eight bytes.
std::string many_lines(std::size_t count) {
  std::string text;
  for (std::size_t k = 0; k < count; ++k) text += "1\t11111\n";
  return text;
}

TEST(InputFile, TextThatChangesBetweenRoundsIsAnError) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "t.tsv";
  const auto read_on_after = [&](const auto& change) {
    test::write(path, many_lines(1000));
    TextSource source(path);
    EXPECT_EQ(source.next(80).size(), 80U);
    change();
    return error_of([&] {
      while (!source.next(80).empty()) {
      }
    });
  };
  const std::string start = path.string() + ": changed while it was being read";
  EXPECT_TRUE(read_on_after([&] { fs::resize_file(path, 800); }).starts_with(start));
  EXPECT_TRUE(read_on_after([&] { overwrite(path, 4000, "2\t2\n3\t3\n"); }).starts_with(start));
  EXPECT_TRUE(read_on_after([&] { std::ofstream(path, std::ios::app) << "2\t2\n"; }).starts_with(start));
  EXPECT_EQ(read_on_after([] {}), "no error");
}

/// Images of 64 neurons, of which the same two are 1 in each.
BitMatrix equal_images(Index images) {
  BitMatrix bits;
  bits.rows = images;
  bits.cols = 64;
  bits.words = Array<std::uint64_t>(std::vector<std::uint64_t>(images, 5));
  return bits;
}

TEST(InputFile, PackedArraysAreWhatWasChecked) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "i.spdnn";
  write_packed_images(path, {equal_images(3000)});
  const std::string before = contents(path);

  const ImageSet images = read_packed_images(path, {}, {});
  overwrite(path, before.size() / 2, std::string(before.size() / 2, '\1'));
  EXPECT_TRUE(std::all_of(images.bits().words.begin(), images.bits().words.end(), [](auto w) { return w == 5; }));
  fs::resize_file(path, 0);
  EXPECT_TRUE(std::all_of(images.bits().words.begin(), images.bits().words.end(), [](auto w) { return w == 5; }));
}

TEST(InputFile, APackedFileThatChangesBeforeItsSectionsAreReadIsAnError) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "i.spdnn";
  const auto load_after = [&](const auto& change) {
    write_packed_images(path, {equal_images(100)});
    const PackedFile file(path);
    change();
    return error_of([&] { load_images(file); });
  };
  const std::string start = path.string() + ": changed while it was being read";
  EXPECT_EQ(load_after([] {}), "no error");
  EXPECT_TRUE(load_after([&] { overwrite(path, fs::file_size(path) - 80, "other"); }).starts_with(start));
  EXPECT_TRUE(load_after([&] { overwrite(path, fs::file_size(path) / 2, "other"); }).starts_with(start));
  EXPECT_TRUE(load_after([&] { fs::resize_file(path, fs::file_size(path) / 2); }).starts_with(start));
}

TEST(TextSource, ALineIsNoLongerThanItsLimitHoweverItComes) {
  const TemporaryDirectory directory;
  const auto error_with = [&](const std::string& name, const std::string& line) {
    const std::string text = "1 1 1\n" + line;
    test::write(directory / name, name.ends_with(".gz") ? gzip(text) : text);
    return error_of([&] {
      TextSource source(directory / name);
      read_tsv_layer(source, 3, 2);
    });
  };
  test::write(directory / "line", std::string(3 * kLongestLine, '1'));
  EXPECT_EQ(error_of([&] { TextSource(directory / "line").next(80); }),
            (directory / "line").string() + ":1:1: a line of more than 1048576 bytes");
  for (const std::string name : {"l.tsv", "l.tsv.gz"}) {
    const std::string place = (directory / name).string() + ":2:1: ";
    EXPECT_EQ(error_with(name, "2 2" + std::string(kLongestLine - 5, ' ') + "1\n"), "no error");
    EXPECT_EQ(error_with(name, "2 2" + std::string(kLongestLine - 4, ' ') + "1\n"),
              place + "a line of more than 1048576 bytes");
    EXPECT_EQ(error_with(name, std::string(3 * kLongestLine, '1') + "\n"), place + "a line of more than 1048576 bytes");
    EXPECT_EQ(error_with(name, std::string(3 * kLongestLine, '1')), place + "a line of more than 1048576 bytes");
    EXPECT_EQ(error_with(name, "2 2 0." + std::string(2 * kLongestLine, '1') + "\n"),
              place + "a line of more than 1048576 bytes");
  }
}

}  // namespace
}  // namespace spdnn
