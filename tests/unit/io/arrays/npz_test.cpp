#include "io/arrays/npz.hpp"

#include <gtest/gtest.h>

#include <chrono>

#include "io/arrays/npy_header.hpp"
#include "support/hostile_files.hpp"
#include "support/zip_archive.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

class Npz : public ::testing::Test {
 protected:
  static std::string bytes(const std::string& numbers) {
    return npy_header("|u1", {static_cast<Extent>(numbers.size())}) + numbers;
  }
  std::filesystem::path archive(const std::string& content) const { return written(directory_ / "data.npz", content); }
  /// The fault is in the archive, or in its array a.
  void refuses(const std::string& content, std::string_view part, bool in_array = false) const {
    const auto path = archive(content);
    expect_refused(in_array ? path / "a" : path, part, [&] { read_array_rows(path); });
  }

  TemporaryDirectory directory_;
};

TEST_F(Npz, NamedArrays) {
  std::string many(300'000, '\0');
  for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<char>(i % 251);
  for (const bool deflated : {false, true}) {
    const auto path = archive(zip_archive({{"x.npy", bytes("\1\2\3")},
                                           {"folder/y.npy", npy_header("<f4", {1}) + std::string(4, '\0')},
                                           {"z.npy", bytes(many)}},
                                          deflated));
    const InputFile file(path);
    const NpzFile npz(file);
    EXPECT_EQ(npz.names(), (std::vector<std::string>{"x", "folder/y", "z"}));
    EXPECT_EQ(read_npy_rows(npz.member("x").file()).tensor.values[2], 3);
    EXPECT_EQ(read_npy_integers(npz.member("x").file()).values[1], 2);
    EXPECT_EQ(read_array_rows(path / "z").tensor.values[299'999], 299'999 % 251);
    EXPECT_EQ(read_integer_array(path / "x").shape, Shape{3});
    EXPECT_EQ(read_array_rows(path / "folder" / "y").tensor.values[0], 0);
    EXPECT_TRUE(is_whole(read_array_rows(path / "x").type));
    EXPECT_FALSE(is_whole(read_array_rows(path / "folder/y").type));
    EXPECT_EQ(read_array_rows(path / "z", 5).tensor.values.size(), 5U);
    EXPECT_EQ(read_array_rows(path / "z", 5).available, 300'000);
    EXPECT_TRUE(names_array(path / "x") && names_array(path) && names_array("a.npy") && !names_array("a.gz"));
    expect_refused(path, "has no array 'w', but x, folder/y, z", [&] { read_array_rows(path / "w"); });
    expect_refused(path, "has 3 arrays (x, folder/y, z), expected", [&] { read_array_rows(path); });
  }
  EXPECT_EQ(read_array_rows(archive(zip_archive({{"only.npy", bytes("\7")}}, true))).tensor.values[0], 7);
}

TEST_F(Npz, ThatIsWrittenToWhileItIsReadIsRefused) {
  const auto path = archive(zip_archive({{"only.npy", bytes("\7")}}, true));
  const InputFile file(path);
  last_write_time(path, last_write_time(path) + std::chrono::seconds(2));
  expect_refused(path, "changed while it was being read: it was written to", [&] { const NpzFile npz(file); });
}

TEST_F(Npz, WhatIsNotSoundIsRefused) {
  const std::string content = bytes(std::string(1000, '\5') + "abc");
  refuses("", "holds no arrays");
  refuses(content, "not a zip archive");
  for (const bool deflated : {false, true}) {
    const std::string whole = zip_archive({{"a.npy", content}}, deflated);
    refuses(whole.substr(0, whole.size() - 30), "not a zip archive");
    const std::size_t data = 30 + 5;  // after the local header and the name
    std::string changed = whole;
    changed[data + (deflated ? 40 : 900)] ^= 1;
    refuses(changed, "damaged: ", true);
    // The archive's directory claims another size: 24 bytes after its beginning.
    const std::size_t size = whole.rfind("PK\1\2") + 24;
    std::string longer = whole;
    longer[size + 3] = '\x7f';
    refuses(longer, "which is impossible", true);
    std::string shorter = whole;
    shorter[size + 1] = '\0';
    refuses(shorter, "the archive states", true);
  }
  const std::string twice = zip_archive({{"a.npy", content}, {"a", content}}, false);
  refuses(twice, "has two arrays called 'a'");
  refuses(zip_archive({{"a.npy", "no array"}}, false), "does not begin with \\x93NUMPY", true);
  refuses(zip_archive({}, false), "holds no arrays");
  std::string encrypted = zip_archive({{"a.npy", content}}, false);
  encrypted[encrypted.rfind("PK\1\2") + 8] = '\1';
  refuses(encrypted, "compressed by an unsupported method", true);
  expect_refused(directory_ / "absent.npz", "No such file", [&] { read_array_rows(directory_ / "absent.npz"); });
}

}  // namespace
}  // namespace spdnn
