#include "io/files/atomic_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <iterator>
#include <string>

#include "io/files/input_file.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  const InputFile file(path);
  std::string text(file.size(), '\0');
  file.read(0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::size_t files_in(const TemporaryDirectory& directory) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()));
}

TEST(AtomicFile, AppearsWholeAtCommit) {
  const TemporaryDirectory directory;
  AtomicFile file(directory / "a");
  file.write("one ");
  file.write("two");
  file.write_at(0, std::as_bytes(std::span("ONE", 3)));
  EXPECT_EQ(file.size(), 7U);
  EXPECT_FALSE(fs::exists(directory / "a"));
  file.commit();
  EXPECT_EQ(content(directory / "a"), "ONE two");
  EXPECT_EQ(files_in(directory), 1U);
}

TEST(AtomicFile, WithoutCommitTheOldFileStays) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "old";
  {
    AtomicFile file(directory / "a");
    file.write("new");
  }
  EXPECT_EQ(content(directory / "a"), "old");
  EXPECT_EQ(files_in(directory), 1U);
}

TEST(AtomicFile, KeepsModeAndFollowsLinks) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "old";
  fs::permissions(directory / "a", fs::perms(0640));
  fs::create_symlink("a", directory / "link");
  AtomicFile file(directory / "link");
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(directory / "link"));
  EXPECT_EQ(content(directory / "a"), "new");
  EXPECT_EQ(fs::status(directory / "a").permissions(), fs::perms(0640));
}

TEST(AtomicFile, ReplacingAPrivateFileShowsItToNobodyMeanwhile) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "old";
  fs::permissions(directory / "a", fs::perms(0600));
  const mode_t mask = ::umask(0);
  AtomicFile file(directory / "a");
  AtomicFile fresh(directory / "b");
  ::umask(mask);
  file.write("secret");
  int found = 0;
  for (const auto& entry : fs::directory_iterator(directory.path())) {
    if (entry.path().extension() != ".tmp") continue;
    ++found;
    const bool secret = fs::file_size(entry) > 0;
    EXPECT_EQ(entry.status().permissions(), fs::perms(secret ? 0600 : 0666));
  }
  EXPECT_EQ(found, 2);
}

TEST(AtomicFile, OnlyAClosedStdoutCountsAsOne) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::mkfifo((directory / "pipe").c_str(), 0600), 0);
  const auto before = ::signal(SIGPIPE, SIG_IGN);
  const int reader = ::open((directory / "pipe").c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  AtomicFile file(directory / "pipe");
  ::close(reader);
  try {
    file.write("text");
    ADD_FAILURE() << "nobody reads it";
  } catch (const ClosedStdout& error) {
    ADD_FAILURE() << error.what();
  } catch (const std::exception& error) {
    EXPECT_EQ(error.what(), (directory / "pipe").string() + ": cannot write: Broken pipe");
  }
  ::signal(SIGPIPE, before);
}

TEST(AtomicFile, AFullDeviceIsAnError) {
  EXPECT_EQ(testing::message_of<DataError>([] { AtomicFile("/dev/full").write("text"); }),
            "/dev/full: cannot write: No space left on device");
  AtomicFile null("/dev/null");
  null.write("text");
  EXPECT_NO_THROW(null.commit());
}

/// Stands for a full disk: the process may not write files of more than `bytes`.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST(AtomicFile, AFailedWriteLeavesNothing) {
  const TemporaryDirectory directory;
  const fs::path path = directory / "a";
  const auto write = [&] {
    const FileSizeLimit limit(1 << 16);
    AtomicFile file(path);
    for (int i = 0; i < 5; ++i) file.write(std::string(20000, 'x'));
    file.commit();
  };
  EXPECT_EQ(testing::message_of<DataError>(write), path.string() + ": cannot write: File too large");
  EXPECT_EQ(files_in(directory), 0U);
}

TEST(AtomicFile, AKilledWriterLeavesTheOldFile) {
  const TemporaryDirectory directory;
  std::ofstream(directory / "a") << "old";
  std::array<int, 2> pipe{};
  ASSERT_EQ(::pipe(pipe.data()), 0);
  const pid_t writer = ::fork();
  if (writer == 0) {
    AtomicFile file(directory / "a");
    file.write(std::string(1 << 20, 'x'));
    if (::write(pipe[1], "!", 1) == 1) ::pause();
    ::_exit(1);
  }
  char ready = 0;
  EXPECT_EQ(::read(pipe[0], &ready, 1), 1);
  ::kill(writer, SIGKILL);
  ::waitpid(writer, nullptr, 0);
  ::close(pipe[0]);
  ::close(pipe[1]);
  EXPECT_EQ(content(directory / "a"), "old");
}

TEST(AtomicFile, SaysWhyAFileCannotBeMade) {
  const TemporaryDirectory directory;
  const auto attempt = [](const fs::path& path) {
    return testing::message_of<DataError>([&] { AtomicFile file(path); });
  };
  const std::string place = directory.path().string();
  EXPECT_EQ(attempt(directory.path()), place + ": cannot write: Is a directory");
  EXPECT_EQ(attempt(directory / "no/a"), place + "/no/a: cannot write: No such file or directory");
  fs::create_symlink("loop", directory / "loop");
  EXPECT_EQ(attempt(directory / "loop"), place + "/loop: cannot write: Too many levels of symbolic links");
}

}  // namespace
}  // namespace spdnn
