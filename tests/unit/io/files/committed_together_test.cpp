// Files that are committed together: all of them get their names, or none. This file replaces the system calls that
// rename files.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "io/files/atomic_file.hpp"
#include "spdnn/error.hpp"
#include "support/tsv_support.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;
using test::contents;
using test::error_of;
using test::write;

/// The number of the next call that fails, from 1 on; 0: none.
struct Failing {
  int rename = 0;
  int rename_after = 0;  ///< as well
  int link = 0;
};
Failing failing;

bool fails(int& countdown) { return countdown > 0 && --countdown == 0; }

class CommittedTogether : public ::testing::Test {
 protected:
  CommittedTogether() {
    write(directory_ / "a", "old a");
    write(directory_ / "c", "old c");
    ::chmod((directory_ / "a").c_str(), 0640);
  }
  ~CommittedTogether() override { failing = {}; }

  /// The error of committing new files a, b and c.
  std::string commit(const Failing& now) const {
    AtomicFile a(directory_ / "a");
    AtomicFile b(directory_ / "b");
    AtomicFile c(directory_ / "c");
    a.write("new a");
    b.write("new b");
    c.write("new c");
    failing = now;
    const std::string error = error_of([&] { AtomicFile::commit_together({&a, nullptr, &b, &c}); });
    failing = {};
    return error;
  }
  std::string name(const char* file) const { return (directory_ / file).string(); }
  std::size_t names() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory_.path()), {}));
  }

  TemporaryDirectory directory_;
};

TEST_F(CommittedTogether, AllAreThere) {
  EXPECT_EQ(commit({}), "no error");
  EXPECT_EQ(contents(directory_ / "a") + contents(directory_ / "b") + contents(directory_ / "c"), "new anew bnew c");
  EXPECT_EQ(names(), 3U);
}

TEST_F(CommittedTogether, WhereOneCannotHaveItsNameEverythingIsAsBefore) {
  struct stat before {};
  ::stat(name("a").c_str(), &before);
  for (const auto& [number, file] : {std::pair{1, "a"}, {2, "b"}, {3, "c"}}) {
    EXPECT_EQ(commit({.rename = number}), name(file) + ": cannot write: No space left on device");
    EXPECT_EQ(contents(directory_ / "a"), "old a") << number;
    EXPECT_EQ(contents(directory_ / "c"), "old c") << number;
    EXPECT_EQ(names(), 2U) << number;
    struct stat now {};
    ::stat(name("a").c_str(), &now);
    EXPECT_EQ(now.st_ino, before.st_ino) << number;
    EXPECT_EQ(now.st_mode, before.st_mode) << number;
    EXPECT_EQ(now.st_nlink, 1U) << number;
  }
}

TEST_F(CommittedTogether, WhatCannotBeTakenBackIsNamed) {
  const std::string reason = name("c") + ": cannot write: No space left on device";
  EXPECT_EQ(commit({.rename = 3, .link = 1}), reason + "; " + name("a") + " is in place already");
  EXPECT_EQ(contents(directory_ / "a") + contents(directory_ / "c"), "new aold c");
  EXPECT_EQ(names(), 2U);
  write(directory_ / "a", "old a");
  EXPECT_EQ(commit({.rename = 3, .rename_after = 4}), reason + "; " + name("a") + " is in place already");
  EXPECT_EQ(contents(directory_ / "a") + contents(directory_ / "c"), "new aold c");
  EXPECT_EQ(names(), 2U);
}

TEST_F(CommittedTogether, WithoutHardLinksAllAreThereAsWell) {
  EXPECT_EQ(commit({.link = 1}), "no error");
  EXPECT_EQ(contents(directory_ / "a") + contents(directory_ / "b") + contents(directory_ / "c"), "new anew bnew c");
  EXPECT_EQ(names(), 3U);
}

}  // namespace
}  // namespace spdnn

// These replace the functions of the C library.
extern "C" {
int rename(const char* from, const char* to) noexcept {
  const bool now = spdnn::fails(spdnn::failing.rename);
  if (spdnn::fails(spdnn::failing.rename_after) || now) return errno = ENOSPC, -1;
  return static_cast<int>(::syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0));
}
int link(const char* from, const char* to) noexcept {
  if (spdnn::fails(spdnn::failing.link)) return errno = EPERM, -1;
  return static_cast<int>(::syscall(SYS_linkat, AT_FDCWD, from, AT_FDCWD, to, 0));
}
}
