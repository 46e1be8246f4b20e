#include "io/files/temporaries.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <thread>

#include "io/files/atomic_file.hpp"
#include "support/sampled.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

std::size_t entries(const TemporaryDirectory& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()));
}

/// The status of a process that does the work and then kills itself.
int status_of_killed(const std::function<void()>& work) {
  const pid_t process = ::fork();
  if (process == 0) {
    work();
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ::waitpid(process, &status, 0);
  return status;
}

/// Writers that are killed before commit(), one of a file and one of a directory.
void leave_stale(const TemporaryDirectory& directory) {
  const int status = status_of_killed([&] {
    AtomicFile file(directory / "a");
    file.write("new");
    const Temporary staging(Temporary::Kind::directory, directory.path(), directory / "d", 0777);
    AtomicFile inside(staging.path() / "b");
    inside.write("new");
    ::kill(::getpid(), SIGKILL);
  });
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(Temporaries, OfKilledWritersGoWithTheNextWriterOfTheSameTarget) {
  const TemporaryDirectory directory;
  leave_stale(directory);
  EXPECT_EQ(entries(directory), 2U);
  { AtomicFile other(directory / "b"); }
  EXPECT_EQ(entries(directory), 2U);  // both belong to other targets
  { AtomicFile same(directory / "a"); }
  EXPECT_EQ(entries(directory), 1U);
  remove_stale_temporaries(directory.path(), directory / "d");
  EXPECT_EQ(entries(directory), 0U);
}

TEST(Temporaries, OfLiveWritersAreLeftAlone) {
  const TemporaryDirectory directory;
  AtomicFile one(directory / "a");
  AtomicFile two(directory / "a");
  one.write("one");
  two.write("two");
  remove_stale_temporaries(directory.path(), directory / "a");
  EXPECT_EQ(entries(directory), 2U);
  two.commit();
  one.sync();
  remove_stale_temporaries(directory.path(), directory / "a");  // synced and closed, but still to be renamed
  one.commit();
  EXPECT_EQ(entries(directory), 1U);
}

TEST(Temporaries, OfAnotherHostWhoseLocksAreNotSeenHereStayForADay) {
  const TemporaryDirectory directory;
  fs::path path;
  {
    const AtomicFile file(directory / "a");
    path = fs::directory_iterator(directory.path())->path();
  }
  // A temporary of the same target by another host; no process holds its lock.
  std::string name = path.filename().string();
  const std::size_t host = std::string(".spdnn-0123456789abcdef-").size();
  name[host] = name[host] == '0' ? '1' : '0';
  std::ofstream(directory / name) << "new";
  EXPECT_EQ(remove_stale_temporaries(directory.path(), directory / "a"), 1U);
  EXPECT_EQ(entries(directory), 1U);
  fs::last_write_time(directory / name, fs::file_time_type::clock::now() - std::chrono::hours(25));
  EXPECT_EQ(remove_stale_temporaries(directory.path(), directory / "a"), 0U);
  EXPECT_EQ(entries(directory), 0U);
}

TEST(Temporaries, FilesThatAreNoneOfThatTargetStayWhateverTheirAge) {
  const TemporaryDirectory directory;
  fs::path path;
  {
    const AtomicFile file(directory / "b");
    path = fs::directory_iterator(directory.path())->path();
  }
  const fs::path longer = path.string() + ".orig";
  for (const fs::path& name : {path, longer, directory / "notes.tmp", directory / ".spdnn-notes.tmp"}) {
    std::ofstream(name) << "old";
    fs::last_write_time(name, fs::file_time_type::clock::now() - std::chrono::hours(25));
  }
  EXPECT_EQ(remove_stale_temporaries(directory.path(), directory / "a"), 0U);
  EXPECT_EQ(entries(directory), 4U);
  EXPECT_EQ(remove_stale_temporaries(directory.path(), directory / "b"), 0U);
  EXPECT_FALSE(fs::exists(path));
  EXPECT_EQ(entries(directory), 3U);
}

TEST(Temporaries, ComeIntoBeingBesideWritersThatRemoveStaleOnes) {
  const TemporaryDirectory directory;
  std::atomic<bool> over = false;
  std::thread remover([&] {
    while (!over) remove_stale_temporaries(directory.path(), directory / "d");
  });
  for (int i = 0; i < testing::sampled(250, 1000); ++i) {
    const auto kind = i % 2 == 0 ? Temporary::Kind::directory : Temporary::Kind::file;
    EXPECT_NO_THROW(EXPECT_TRUE(fs::exists(Temporary(kind, directory.path(), directory / "d", 0777).path())));
  }
  over = true;
  remover.join();
}

TEST(Temporaries, AProgramThatEndsBySignalRemovesItsOwn) {
  const TemporaryDirectory directory;
  const int status = status_of_killed([&] {
    const AtomicFile file(directory / "a");
    const Temporary staging(Temporary::Kind::directory, directory.path(), directory / "d", 0777);
    AtomicFile(staging.path() / "b").write("new");
    end_temporaries();
    ::kill(::getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(entries(directory), 0U);
}

TEST(Temporaries, ErrorsOfFilesInsideNameTheTarget) {
  const TemporaryDirectory directory;
  const Temporary staging(Temporary::Kind::directory, directory.path(), directory / "d", 0777);
  EXPECT_EQ(AtomicFile(staging.path() / "b").path(), directory / "d" / "b");
  EXPECT_FALSE(name_in_target(directory / "d" / "b"));
}

}  // namespace
}  // namespace spdnn
