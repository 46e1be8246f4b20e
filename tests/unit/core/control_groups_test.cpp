#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "core/threads/parallel.hpp"
#include "core/threads/thread_quota.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// The kernel's files that are read, in a folder.
class ControlGroups : public ::testing::Test {
 protected:
  void member_of(const std::string& lines) { write("proc/self/cgroup", lines); }
  void group(const std::string& file, const std::string& content) { write("sys/fs/cgroup/" + file, content); }
  std::optional<ProcessorQuota> quota() const { return read_processor_quota(system()); }
  double processors() const { return quota() ? quota()->processors : 0; }
  std::string system() const { return directory_.path().string(); }

 private:
  void write(const std::string& file, const std::string& content) {
    const auto path = directory_.path() / file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content << "\n";
  }

  TemporaryDirectory directory_;
};

TEST_F(ControlGroups, WithoutThemThereIsNoQuota) {
  EXPECT_FALSE(quota());
  EXPECT_EQ(threads_by(quota()), kMostThreads);
}

TEST_F(ControlGroups, OfVersion2HaveQuotaAndPeriodInOneFile) {
  member_of("0::/site/job");
  group("site/job/cpu.max", "150000 100000");
  EXPECT_EQ(processors(), 1.5);
  EXPECT_EQ(quota()->group, system() + "/sys/fs/cgroup/site/job");
  EXPECT_EQ(threads_by(quota()), 2);
  group("site/job/cpu.max", "max 100000");
  EXPECT_FALSE(quota());
}

TEST_F(ControlGroups, OfVersion1HaveQuotaAndPeriodInTwoFiles) {
  member_of("9:name=systemd:/job\n4:memory:/job\n3:cpu,cpuacct:/docker/a\n2:cpuset:/job");
  group("cpu/docker/a/cpu.cfs_quota_us", "300000");
  group("cpu/docker/a/cpu.cfs_period_us", "100000");
  EXPECT_EQ(processors(), 3);
  EXPECT_EQ(threads_by(quota()), 3);
  group("cpu/docker/a/cpu.cfs_quota_us", "-1");
  EXPECT_FALSE(quota());
}

TEST_F(ControlGroups, TheStrictestOnTheWayToTheRootCounts) {
  member_of("0::/site/job/step");
  group("site/job/step/cpu.max", "max 100000");
  group("site/job/cpu.max", "40000 20000");
  group("site/cpu.max", "1000000 100000");
  group("site/other/cpu.max", "1000 100000");
  EXPECT_EQ(processors(), 2);
  EXPECT_EQ(quota()->group, system() + "/sys/fs/cgroup/site/job");
}

TEST_F(ControlGroups, AContainerWhosePathIsMissingCountsTheMountPoint) {
  member_of("0::/docker/abc");
  group("cpu.max", "250000 100000");
  EXPECT_EQ(processors(), 2.5);
  EXPECT_EQ(threads_by(quota()), 3);
}

TEST_F(ControlGroups, LeaveAtLeastOneThread) {
  member_of("0::/");
  group("cpu.max", "1000 100000");
  EXPECT_EQ(threads_by(quota()), 1);
}

TEST_F(ControlGroups, ThatAreGarbledLimitNothing) {
  member_of("0::/a\nnonsense\n::\n5:cpu");
  for (const char* const content : {"", "many few", "100000", "100000 0", "-5 100000", "0 100000"}) {
    group("a/cpu.max", content);
    EXPECT_FALSE(quota()) << content;
  }
}

TEST_F(ControlGroups, AreListedFromTheInnermostOnOfTheControllerAskedFor) {
  member_of("7:memory:/a/b\n3:cpu:/a");
  const auto groups = control_groups("memory", system());
  ASSERT_EQ(groups.size(), 3U);
  EXPECT_EQ(groups[0].folder, system() + "/sys/fs/cgroup/memory/a/b");
  EXPECT_EQ(groups[2].folder, system() + "/sys/fs/cgroup/memory");
  EXPECT_FALSE(groups[0].unified);
}

TEST_F(ControlGroups, AreSharedByTheProcessesInThem) {
  const ProcessorQuota eight{8, ""};
  EXPECT_EQ(part_of_threads(64, 1, eight, 4), 2) << "each on processors of its own, all in one group";
  EXPECT_EQ(part_of_threads(64, 4, eight, 1), 8) << "each in a group of its own, all on the same processors";
  EXPECT_EQ(part_of_threads(64, 16, eight, 1), 4);
  EXPECT_EQ(part_of_threads(64, 4, std::nullopt, 4), 16);
  EXPECT_EQ(part_of_threads(2, 4, ProcessorQuota{0.5, ""}, 4), 1);
}

TEST_F(ControlGroups, AreNamedWhereTheyAreTheReasonForFewerThreads) {
  const ProcessorQuota quota{1.5, "/sys/fs/cgroup/job"};
  EXPECT_EQ(why_fewer_threads(quota, 8),
            "2 threads: control group /sys/fs/cgroup/job limits the CPU time to 1.5 of 8 processors");
  EXPECT_FALSE(why_fewer_threads(quota, 2));
  EXPECT_FALSE(why_fewer_threads(std::nullopt, 8));
}

}  // namespace
}  // namespace spdnn
