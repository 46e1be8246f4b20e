#include "io/files/output_target.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>

#include "spdnn/error.hpp"
#include "support/hostile_files.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Makes root an ordinary user meanwhile; another user stays who he is.
class OrdinaryUser {
 public:
  OrdinaryUser() : before_(::geteuid()) {
    if (before_ == 0 && ::seteuid(kNobody) != 0) ADD_FAILURE() << "root cannot become another user";
  }
  ~OrdinaryUser() { EXPECT_EQ(::seteuid(before_), 0); }
  OrdinaryUser(const OrdinaryUser&) = delete;
  OrdinaryUser& operator=(const OrdinaryUser&) = delete;

 private:
  static constexpr uid_t kNobody = 65534;
  uid_t before_;
};

std::string target_error(const std::filesystem::path& path) {
  return testing::message_of<DataError>([&] { find_output_file(path); });
}

TEST(OutputTarget, OfDirectoriesAndMissingOnes) {
  const TemporaryDirectory directory;
  const std::string place = directory.path().string();
  EXPECT_EQ(target_error(directory.path()), place + ": cannot write: Is a directory");
  EXPECT_EQ(target_error(directory / "absent" / "a"), place + "/absent/a: cannot write: No such file or directory");
  EXPECT_EQ(target_error(""), ": cannot write: No such file or directory");
  const OutputTarget fresh = find_output_file(directory / "a");
  EXPECT_FALSE(fresh.now || fresh.direct());
  written(directory / "a", "old");
  const OutputTarget old = find_output_file(directory / "a");
  EXPECT_TRUE(old.now && !old.direct());
  EXPECT_EQ(old.path, std::filesystem::canonical(directory / "a"));
  EXPECT_TRUE(find_output_file("/dev/null").direct());
  expect_refused(directory / "a", "cannot write: it is a file, expected a directory or a new name",
                 [&] { find_output_directory(directory / "a"); });
}

TEST(OutputTarget, AFileMadeReadOnlyIsNotReplaced) {
  const TemporaryDirectory directory;
  std::filesystem::permissions(directory.path(), std::filesystem::perms(0777));
  const OrdinaryUser user;
  written(directory / "a", "old");
  EXPECT_EQ(target_error(directory / "a"), "no error");
  std::filesystem::permissions(directory / "a", std::filesystem::perms(0444));
  EXPECT_EQ(target_error(directory / "a"), (directory / "a").string() + ": cannot write: Permission denied");
  std::filesystem::create_directory(directory / "d");
  std::filesystem::permissions(directory / "d", std::filesystem::perms(0555));
  EXPECT_EQ(target_error(directory / "d" / "b"),
            (directory / "d" / "b").string() + ": cannot write: Permission denied");
}

TEST(OutputTarget, InAStickyDirectoryOnlyOwnersAndRootReplace) {
  const TemporaryDirectory directory;
  written(directory / "a", "old");
  std::filesystem::permissions(directory / "a", std::filesystem::perms(0666));
  std::filesystem::permissions(directory.path(), std::filesystem::perms(01777));
  EXPECT_EQ(target_error(directory / "a"), "no error") << "one's own";
  if (::geteuid() != 0) return;  // only root can make files of others
  {
    const OrdinaryUser user;
    EXPECT_EQ(target_error(directory / "a"), (directory / "a").string() + ": cannot write: Operation not permitted");
    written(directory / "b", "of nobody");
    EXPECT_EQ(target_error(directory / "b"), "no error");
  }
  ASSERT_EQ(::chown(directory.path().c_str(), 65533, 65533), 0);
  EXPECT_EQ(target_error(directory / "b"), "no error") << "root replaces what is another's in another's directory";
}

TEST(OutputTarget, PermissionsOfAnOwnerOrGroupThatCannotBeKeptAreDropped) {
  const OrdinaryUser user;
  const int file = ::memfd_create("attributes", 0);
  ASSERT_GE(file, 0);
  struct stat own {};
  ASSERT_EQ(::fstat(file, &own), 0);
  const auto mode_after = [&](uid_t owner, gid_t group, mode_t mode, bool kept) {
    struct stat from = own;
    from.st_uid = owner;
    from.st_gid = group;
    from.st_mode = S_IFREG | mode;
    EXPECT_EQ(copy_attributes(file, from), kept) << owner << ':' << group;
    struct stat now {};
    ::fstat(file, &now);
    return now.st_mode & 07777U;
  };
  const uid_t owner = own.st_uid + 1;
  const gid_t group = own.st_gid + 12345;
  EXPECT_EQ(mode_after(own.st_uid, own.st_gid, 04754, true), 04754U);
  EXPECT_EQ(mode_after(owner, own.st_gid, 04754, false), 0754U);
  EXPECT_EQ(mode_after(own.st_uid, group, 04754, false), 04744U) << "the group gets what all have";
  EXPECT_EQ(mode_after(own.st_uid, group, 02775, false), 0755U);
  EXPECT_EQ(mode_after(owner, group, 06770, false), 0700U);
  ::close(file);
}

}  // namespace
}  // namespace spdnn
