#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/system/out_of_memory.hpp"
#include "core/system/system_failure.hpp"
#include "core/text/amounts.hpp"
#include "io/files/path_kind.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

TEST(Failures, OfTheSystemAreTheMachinesOrTheFiles) {
  for (const int error : {ENOMEM, EAGAIN, EMFILE, ENFILE}) EXPECT_TRUE(is_exhaustion(error));
  for (const int error : {ENOENT, EACCES, ENOSPC, EIO, EPIPE}) EXPECT_FALSE(is_exhaustion(error));
  EXPECT_EQ(testing::message_of<DeviceError>([] { throw_system_failure("f", "cannot read", ENOMEM); }),
            "f: cannot read: Cannot allocate memory");
  EXPECT_EQ(testing::message_of<DataError>([] { throw_system_failure("f", "cannot write", ENOSPC); }),
            "f: cannot write: No space left on device");
}

TEST(Failures, LackOfMemorySaysWhatItWasFor) {
  const auto message = [](auto work) {
    return testing::message_of<DeviceError>([&] { with_memory_for("f", "cannot read", work); });
  };
  EXPECT_EQ(message([] { throw std::bad_alloc(); }), "f: cannot read: out of host memory");
  EXPECT_EQ(message([] { throw std::bad_array_new_length(); }), "f: cannot read: out of host memory");
  EXPECT_EQ(message([] { std::vector<int>().reserve(~std::size_t{0}); }), "f: cannot read: out of host memory");
  EXPECT_EQ(message([&] { message([] { throw std::bad_alloc(); }); }), "no error");
  EXPECT_EQ(with_memory_for("f", "cannot read", [] { return 7; }), 7);
}

TEST(Failures, BytesAreShownInAUnitThatFits) {
  EXPECT_EQ(bytes_text(0), "0 bytes");
  EXPECT_EQ(bytes_text(1), "1 byte");
  EXPECT_EQ(bytes_text(999), "999 bytes");
  EXPECT_EQ(bytes_text(1000), "1.0 kB");
  EXPECT_EQ(bytes_text(2345678), "2.3 MB");
  EXPECT_EQ(bytes_text(70000000000), "70.0 GB");
}

TEST(PathKind, FollowsLinksAndRefusesWhatCannotBeTold) {
  const TemporaryDirectory directory;
  const std::filesystem::path& path = directory.path();
  std::ofstream(path / "file") << "x";
  create_symlink("file", path / "link");
  create_symlink("nothing", path / "dangling");
  create_symlink("loop", path / "loop");
  EXPECT_EQ(path_kind(path), PathKind::directory);
  EXPECT_EQ(path_kind(path / "file"), PathKind::file);
  EXPECT_EQ(path_kind(path / "link"), PathKind::file);
  EXPECT_EQ(path_kind(path / "dangling"), PathKind::missing);
  EXPECT_EQ(path_kind(path / "file" / "within"), PathKind::missing);
  EXPECT_EQ(path_kind("/dev/null"), PathKind::other);
  EXPECT_EQ(testing::message_of<DataError>([&] { path_kind(path / "loop"); }),
            (path / "loop").string() + ": cannot read: Too many levels of symbolic links");
  const auto paths = list_directory(path);
  EXPECT_EQ(paths, (std::vector{path / "dangling", path / "file", path / "link", path / "loop"}));
  EXPECT_EQ(testing::message_of<DataError>([&] { list_directory(path / "file"); }),
            (path / "file").string() + ": cannot read: Not a directory");
}

}  // namespace
}  // namespace spdnn
