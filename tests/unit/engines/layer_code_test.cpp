// The machine code of a layer, with a stand-in for the compiler: what is kept, and what is said if there is no code or
// if it cannot be kept.

#include "engines/cuda/conv_generated/layer_code.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include "spdnn/error.hpp"
#include "support/message_of.hpp"
#include "temporary_directory.hpp"

namespace spdnn::cuda {
namespace {

using Bytes = std::vector<std::byte>;
using std::chrono::steady_clock;

constexpr auto kLong = std::chrono::minutes(2);

/// Different for each kernel, and long enough to be written in pieces.
Bytes code_of(std::size_t kernel) { return Bytes(100000 + kernel, static_cast<std::byte>(kernel + 1)); }

class LayerCodeTest : public ::testing::Test {
 protected:
  void SetUp() override { keep_in(temporary_ / "cache"); }
  void TearDown() override { keep_in(""); }

  static void keep_in(const std::filesystem::path& directory) { ::setenv("SPDNN_CACHE", directory.c_str(), 1); }
  std::filesystem::path file() const { return temporary_ / "cache" / "conv_generated" / "digest.cubins"; }

  static LayerCode code_by(const std::function<Bytes(std::size_t)>& compile) {
    return LayerCode({.digest = "digest", .kernels = 3, .compile = compile});
  }
  /// The remark on code that is as it should be.
  static std::string remark_on(LayerCode code) {
    const std::vector<Bytes>& found = code.get(steady_clock::now() + kLong);
    EXPECT_EQ(found, (std::vector<Bytes>{code_of(0), code_of(1), code_of(2)}));
    return code.remark();
  }
  static std::string failure_of(LayerCode& code, steady_clock::duration time = kLong) {
    return testing::message_of<DeviceError>([&] { code.get(steady_clock::now() + time); });
  }
  std::size_t files() const {
    const std::filesystem::path directory = temporary_ / "cache";
    if (!std::filesystem::exists(directory)) return 0;
    std::size_t count = 0;
    for (const auto& one : std::filesystem::recursive_directory_iterator(directory))
      count += one.is_regular_file() ? 1 : 0;
    return count;
  }

  TemporaryDirectory temporary_;
};

Bytes never(std::size_t) { throw std::runtime_error("compiled again"); }

TEST_F(LayerCodeTest, IsCompiledOnceAndThenRead) {
  EXPECT_EQ(remark_on(code_by(code_of)), "");
  EXPECT_EQ(files(), 1);
  LayerCode kept = code_by(never);
  EXPECT_EQ(kept.get(steady_clock::now() + kLong).size(), 3);
  EXPECT_EQ(kept.compile_seconds(), 0);
  EXPECT_EQ(kept.remark(), "");
}

TEST_F(LayerCodeTest, ADamagedFileIsReplaced) {
  remark_on(code_by(code_of));
  const std::string damaged = file().string() + " was damaged, and is made anew";
  std::fstream(file(), std::ios::in | std::ios::out | std::ios::binary).seekp(5000).put('!');
  EXPECT_EQ(remark_on(code_by(code_of)), damaged);
  for (const std::uintmax_t size : {0, 10, 31, 200000}) {
    std::filesystem::resize_file(file(), size);
    EXPECT_EQ(remark_on(code_by(code_of)), damaged) << size;
  }
  EXPECT_EQ(remark_on(code_by(never)), "");
}

/// The record that a model has been stored with.
TEST_F(LayerCodeTest, OfTheModelIsTakenFirst) {
  using Source = program::Prepared::Source;
  LayerCode made = code_by(code_of);
  made.get(steady_clock::now() + kLong);
  EXPECT_EQ(made.source(), Source::compiled);
  const Bytes record = made.record();
  const auto with = [](const Bytes& of_model, const std::function<Bytes(std::size_t)>& compile) {
    return LayerCode({.digest = "digest", .kernels = 3, .compile = compile, .of_model = of_model});
  };
  std::ofstream(file()) << "damaged, and not looked at";
  LayerCode taken = with(record, never);
  EXPECT_EQ(taken.get(steady_clock::now() + kLong), made.get(steady_clock::now() + kLong));
  EXPECT_EQ(taken.source(), Source::model);
  EXPECT_EQ(taken.compile_seconds(), 0);
  EXPECT_EQ(taken.remark(), "");
  EXPECT_EQ(taken.record(), record);
  keep_in("");
  Bytes damaged = record;
  damaged[5000] ^= std::byte{1};
  EXPECT_EQ(remark_on(with(damaged, code_of)), "its code in the model was damaged, and is not used");
  for (const std::size_t size : {std::size_t{1}, std::size_t{31}, record.size() - 1}) {
    EXPECT_EQ(remark_on(with(Bytes(record.begin(), record.begin() + static_cast<std::ptrdiff_t>(size)), code_of)),
              "its code in the model was damaged, and is not used")
        << size;
  }
}

/// The child process of the compiler ends by itself.
TEST_F(LayerCodeTest, ACompilerThatDiesIsReported) {
  const auto dies = [](std::size_t kernel) -> Bytes {
    if (kernel == 1) std::raise(SIGSEGV);
    return code_of(kernel);
  };
  LayerCode code = code_by(dies);
  const std::string failure = failure_of(code);
  EXPECT_EQ(failure, "the compiler failed: a child process was ended by signal 11 (Segmentation fault)");
  EXPECT_EQ(failure_of(code), failure) << "the second time";
  EXPECT_EQ(files(), 0);
  LayerCode refuses = code_by([](std::size_t) -> Bytes { throw DeviceError("line 7: no such instruction"); });
  EXPECT_EQ(failure_of(refuses), "the compiler failed: line 7: no such instruction");
  EXPECT_EQ(files(), 0);
}

TEST_F(LayerCodeTest, ACompilerThatHangsIsEnded) {
  const auto hangs = [](std::size_t) -> Bytes {
    while (true) ::pause();
  };
  {
    LayerCode code = code_by(hangs);
    EXPECT_EQ(failure_of(code, std::chrono::milliseconds(200)), "the compiler needs more time than it is allowed");
    EXPECT_EQ(files(), 0);
  }
  EXPECT_EQ(remark_on(code_by(code_of)), "") << "the threads that compiled are free again";
}

/// In another process, whose limit for files stands for a full disk.
TEST_F(LayerCodeTest, AFullDiskIsReportedAndLeavesNothing) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // it has its own threads
  const auto with_full_disk = [&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit few{1000, 1000};
    ::setrlimit(RLIMIT_FSIZE, &few);
    LayerCode code = code_by(code_of);
    code.get(steady_clock::now() + kLong);
    const bool right = code.remark() == "its code is not kept in " + file().string() + ": File too large";
    const bool left = files() > 0;
    std::filesystem::remove_all(temporary_.path());
    ::_exit(right && !left ? 0 : 1);
  };
  EXPECT_EXIT(with_full_disk(), ::testing::ExitedWithCode(0), "");
}

TEST_F(LayerCodeTest, ADirectoryThatCannotBeWrittenIsReported) {
  keep_in("/proc/spdnn");
  const std::string remark = remark_on(code_by(code_of));
  EXPECT_EQ(remark.rfind("its code is not kept in /proc/spdnn/conv_generated/digest.cubins: ", 0), 0) << remark;
  keep_in("");
  EXPECT_EQ(remark_on(code_by(code_of)), "") << "nothing is to be kept";
}

/// Whoever finds a file finds all of it, while others remove it and write it again.
TEST_F(LayerCodeTest, WritersAndReadersShareADirectory) {
  const auto write_and_read = [&] {
    for (int i = 0; i < 20; ++i) {
      std::error_code ignored;
      if (i % 3 == 0) std::filesystem::remove(file(), ignored);
      EXPECT_EQ(remark_on(code_by(code_of)), "");
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i) threads.emplace_back(write_and_read);
  }
  EXPECT_LE(files(), 1);
}

}  // namespace
}  // namespace spdnn::cuda
