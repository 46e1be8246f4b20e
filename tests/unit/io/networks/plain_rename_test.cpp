// Directories of networks on file systems that do not support the flags of renameat2(), such as NFS. This file replaces
// the call.

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "spdnn/error.hpp"
#include "spdnn/files.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

namespace fs = std::filesystem;

int error_of_flags = 0;  ///< 0: the file system knows them

Network network_of_weight(float weight) {
  Network network;
  Layer layer;
  layer.weights = make_csr(2, 2, {0, 1, 2}, {1, 0}, {weight, weight});
  network.layers.push_back(std::move(layer));
  return network;
}

class PlainRename : public ::testing::Test {
 protected:
  void TearDown() override { error_of_flags = 0; }
  void write(float weight) { write_network(net_, Form::tsv, network_of_weight(weight)); }
  float weight_read() { return read_network(net_, {}).network.layers.at(0).weights.entry_value(0); }
  /// Whether the directory's parent has no temporary files.
  bool is_alone() const { return std::next(fs::directory_iterator(scratch_.path())) == fs::directory_iterator(); }

  TemporaryDirectory scratch_;
  fs::path net_ = scratch_ / "net";
};

TEST_F(PlainRename, ANetworkIsWrittenAndReplacedWithoutFlags) {
  error_of_flags = EINVAL;
  for (const float weight : {2.F, 3.F}) {
    write(weight);
    EXPECT_EQ(weight_read(), weight);
    EXPECT_TRUE(is_alone());
  }
}

TEST_F(PlainRename, ADirectoryThatIsThereIsNotReplacedUnseen) {
  fs::create_directory(net_);
  std::ofstream(net_ / "notes") << "kept";
  error_of_flags = EINVAL;
  write(2);
  EXPECT_EQ(weight_read(), 2);
  EXPECT_TRUE(fs::exists(net_ / "notes"));
}

TEST_F(PlainRename, AnotherFailureIsReported) {
  error_of_flags = EIO;
  EXPECT_THROW(write(2), DataError);
  EXPECT_FALSE(fs::exists(net_));
}

}  // namespace
}  // namespace spdnn

// This replaces the function of the C library.
extern "C" int renameat2(int from_directory, const char* from, int to_directory, const char* to,
                         unsigned flags) noexcept {
  if (flags != 0 && spdnn::error_of_flags != 0) {
    errno = spdnn::error_of_flags;
    return -1;
  }
  return static_cast<int>(::syscall(SYS_renameat2, from_directory, from, to_directory, to, flags));
}
