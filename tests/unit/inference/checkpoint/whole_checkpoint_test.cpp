// A checkpoint in which each field has a value of its own, as it is written and read back, and the one who keeps it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/text/json_text.hpp"
#include "inference/checkpoint/checkpoint.hpp"
#include "inference/checkpoint/keeper.hpp"
#include "io/files/input_file.hpp"
#include "io/files/temporaries.hpp"
#include "spdnn/error.hpp"
#include "spdnn/inference.hpp"
#include "support/message_of.hpp"
#include "support/networks.hpp"
#include "temporary_directory.hpp"

namespace spdnn {
namespace {

/// Nothing is done of ten images of three layers of four neurons.
Checkpoint begun_checkpoint() {
  Checkpoint begin;
  begin.plan_digest = 0x12;
  begin.image_digest = 0x34;
  begin.passes = parse_passes("twins,dead");
  begin.depth = 3;
  begin.left_in_file = 30;
  begin.known.alive = begin.known.active = {0, 0, 0};
  begin.left = {{0, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {}}};
  return begin;
}

/// Images 1, 2 and 5 are done, 0 and 3 have two layers, 4 has one, and the others are not begun.
Checkpoint half_done() {
  Checkpoint now = begun_checkpoint();
  now.variants = {"cpu_openmp", "cascade"};
  now.parts = 7;
  now.seconds = {.read = 1,
                 .plan = 2,
                 .start = {},
                 .share = 3,
                 .upload = 4,
                 .upload_images = 5,
                 .infer = {6, 7, 8, 21},
                 .checkpoint = 9,
                 .gather = 10,
                 .total = 50};
  now.costs = {.every = 60, .written = 11, .bytes = 12, .lost_parts = 13, .lost_seconds = 14};
  now.next_within = 1e6;
  now.known.categories = {2, 5};
  now.known.alive = {3, 2, 2};
  now.known.active = {3, 3, -1};
  now.known.saturated = 15;
  now.known.identical = 16;
  now.known.borderline = {1};
  now.known.overflow = {{2, 1}};
  now.left = {{2, {0, 3}, {}}, {1, {4}, {}}, {0, {6, 7, 8, 9}, {}}};
  return now;
}

ActivationParts activations_of_three() {
  return [given = false]() mutable -> std::optional<ImageSet> {
    if (std::exchange(given, true)) return std::nullopt;
    return ImageSet{testing::make_matrix(4, {{{0, 1.F}}, {{1, 2.F}}, {{3, 0.5F}}})};
  };
}

TEST(WholeCheckpoint, HasEachFieldInItsPlace) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  const WrittenCheckpoint written = write_checkpoint(path, half_done(), activations_of_three());
  EXPECT_EQ(written.left, 2 * 1U + 1 * 2 + 4 * 3);
  EXPECT_TRUE(written.begun_again.empty());
  ASSERT_EQ(written.activations.size(), 1U);
  EXPECT_EQ(written.bytes, std::filesystem::file_size(path) +
                               std::filesystem::file_size(path + "." + written.activations[0] + ".spdnn"));
  Json file = parse_json(text_of_file(path));
  for (const char* const varies : {"time", "checksum", "activations"}) file.erase(varies);
  EXPECT_EQ(
      json_line(file),
      R"({"schema":"spdnn-checkpoint-5","plan":"0000000000000012","image_digest":"0000000000000034","passes":"twins,dead","variants":["cascade","cpu_openmp"],)"
      R"("parts":7,)"
      R"("seconds":{"read":1.0,"plan":2.0,"share":3.0,"upload":4.0,"gather":10.0,"total":50.0,"images":5.0,"checkpoint":9.0,"infer":21.0},)"
      R"("costs":{"every":60.0,"written":11,"bytes":12,"lost_parts":13,"lost_seconds":14.0},"next_within":1000000.0,)"
      R"("known":{"categories":[2,5],"alive":[3,2,2],"active":[3,3,-1],"saturated":15,"identical":16,"borderline":[1],"overflow":[[2,1]]},)"
      R"("left":[{"layer":2,"images":[[0,1],[3,1]]},{"layer":1,"images":[[4,1]]},{"layer":0,"images":[[6,4]]}]})"
      "\n");
  Checkpoint read = begun_checkpoint();
  read_checkpoint(path, read);
  Checkpoint expected = half_done();
  EXPECT_EQ(read.variants, expected.variants);
  EXPECT_EQ(read.parts, 7);
  EXPECT_EQ(read.seconds.read, 1);
  EXPECT_EQ(read.seconds.plan, 2);
  EXPECT_EQ(read.seconds.share, 3);
  EXPECT_EQ(read.seconds.upload, 4);
  EXPECT_EQ(read.seconds.upload_images, 5);
  EXPECT_EQ(read.seconds.infer.sum, 21);
  EXPECT_EQ(read.seconds.checkpoint, 9);
  EXPECT_EQ(read.seconds.gather, 10);
  EXPECT_EQ(read.seconds.total, 50);
  EXPECT_EQ(read.costs.written, 11);
  EXPECT_EQ(read.costs.bytes, 12U);
  EXPECT_EQ(read.costs.lost_parts, 14) << "the part that did not stop here";
  EXPECT_GE(read.costs.lost_seconds, 14);
  EXPECT_LT(read.costs.lost_seconds, 1000);
  EXPECT_EQ(read.known.categories, expected.known.categories);
  EXPECT_EQ(read.known.alive, expected.known.alive);
  EXPECT_EQ(read.known.active, expected.known.active);
  EXPECT_EQ(read.known.saturated, 15);
  EXPECT_EQ(read.known.identical, 16);
  EXPECT_EQ(read.known.borderline, expected.known.borderline);
  EXPECT_EQ(read.known.overflow, expected.known.overflow);
  ASSERT_EQ(read.left.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(read.left[i].layer, expected.left[i].layer);
    EXPECT_EQ(read.left[i].ids, expected.left[i].ids);
  }
  EXPECT_EQ(read.left_in_file, written.left);
  EXPECT_EQ(read.activations, written.activations);
}

TEST(WholeCheckpoint, OfAnotherRunIsRefused) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  write_checkpoint(path, half_done(), activations_of_three());
  const auto said = [&](void (*change)(Checkpoint&)) {
    Checkpoint other = begun_checkpoint();
    change(other);
    const std::string message = testing::message_of<DataError>([&] { read_checkpoint(path, other); });
    return message.substr(std::min(message.size(), path.size() + 2));
  };
  EXPECT_EQ(said([](Checkpoint&) {}), "");
  EXPECT_NE(said([](Checkpoint& c) { c.plan_digest = 1; }).find("another network or another precision"),
            std::string::npos);
  EXPECT_NE(said([](Checkpoint& c) { c.image_digest = 1; }).find("other images"), std::string::npos);
  EXPECT_NE(said([](Checkpoint& c) { c.passes = {}; }).find("the passes twins,dead, but none run here"),
            std::string::npos);
}

/// What did not run before does not run when it is continued; what is not asked for does not either.
TEST(WholeCheckpoint, IsContinuedWithPassesThatRanAndAreAskedFor) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  Checkpoint now = half_done();
  for (const char* const ran : {"none", "twins", "unused", "merge", "twins,unused,merge"}) {
    now.passes = parse_passes(ran);
    write_checkpoint(path, now, activations_of_three());
    for (const char* const asked : {"dead", "twins,dead", "unused,saturated", "merge,identical", "all"}) {
      Passes expected = parse_passes(asked);
      expected.twins = expected.twins && now.passes.twins;
      expected.unused = expected.unused && now.passes.unused;
      expected.merge = expected.merge && now.passes.merge;
      EXPECT_EQ(passes_to_continue(path, parse_passes(asked)), expected) << ran << " " << asked;
    }
  }
}

TEST(KeptCheckpoints, ThatCannotBeWrittenAreSaidOnceAndCounted) {
  const TemporaryDirectory directory;
  std::vector<std::string> warnings;
  CheckpointKeeper keeper((directory / "missing" / "run").string(), begun_checkpoint(),
                          [&](const std::string& warning) { warnings.push_back(warning); });
  EXPECT_TRUE(keeper.notes().empty());
  for (int time = 0; time < 3; ++time) keeper.keep(half_done(), activations_of_three());
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].ends_with("; the run goes on")) << warnings[0];
  ASSERT_EQ(keeper.notes().size(), 1U);
  EXPECT_TRUE(keeper.notes()[0].starts_with("3 checkpoints could not be written: ")) << keeper.notes()[0];
  EXPECT_EQ(keeper.costs().written, 0);
}

TEST(KeptCheckpoints, ThatRunOutOfMemoryHalfwayLeaveWhatWasThereBefore) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  const auto files = [&] {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(directory.path())) names.insert(entry.path());
    return names;
  };
  std::vector<std::string> warnings;
  CheckpointKeeper keeper(path, begun_checkpoint(), [&](const std::string& warning) { warnings.push_back(warning); });
  keeper.keep(half_done(), activations_of_three());
  const std::set<std::string> before = files();
  Checkpoint further = half_done();
  further.left.pop_back();
  further.activations = keeper.begin().activations;
  keeper.keep(further, [given = false]() mutable -> std::optional<ImageSet> {
    if (std::exchange(given, true)) throw std::bad_alloc();
    return ImageSet{testing::make_matrix(4, {{{2, 7.F}}})};
  });
  EXPECT_EQ(warnings, std::vector<std::string>{path + ": cannot write: out of host memory; the run goes on"});
  EXPECT_EQ(files(), before);
  std::filesystem::remove(path);
  EXPECT_EQ(keeper.finish(begun_checkpoint(), [] { return std::nullopt; }), "");
  EXPECT_TRUE(std::filesystem::exists(path)) << "written anew, as there is none";
}

/// Otherwise the time since would be taken for lost.
TEST(KeptCheckpoints, OfARunThatStopsThereSaySoThoughNothingWasDoneSince) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  CheckpointKeeper keeper(path, begun_checkpoint(), {});
  keeper.keep(half_done(), activations_of_three());
  Checkpoint stopped = half_done();
  stopped.next_within.reset();
  EXPECT_EQ(keeper.finish(stopped, activations_of_three()), "");
  Checkpoint read = begun_checkpoint();
  read_checkpoint(path, read);
  EXPECT_EQ(read.costs.lost_parts, 13);
  EXPECT_EQ(read.costs.lost_seconds, 14);
}

/// As on a full disk, which the line alone fits on: the images that are done are kept.
TEST(KeptCheckpoints, WithoutRoomForActivationsHaveTheImagesThatAreDone) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  std::filesystem::create_directories(path + ".next.spdnn/full");
  std::vector<std::string> warnings;
  CheckpointKeeper keeper(path, begun_checkpoint(), [&](const std::string& warning) { warnings.push_back(warning); });
  keeper.keep(half_done(), activations_of_three());
  EXPECT_EQ(keeper.costs().written, 1);
  EXPECT_EQ(keeper.costs().bytes, std::filesystem::file_size(path));
  EXPECT_EQ(keeper.begin().left_in_file, 7 * 3U);
  EXPECT_TRUE(keeper.begin().activations.empty());
  Checkpoint read = begun_checkpoint();
  read_checkpoint(path, read);
  ASSERT_EQ(read.left.size(), 1U);
  EXPECT_EQ(read.left[0].layer, 0U);
  EXPECT_EQ(read.left[0].ids, (std::vector<Index>{0, 3, 4, 6, 7, 8, 9}));
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(warnings[0].starts_with(path + ".next.spdnn: ")) << warnings[0];
  ASSERT_EQ(keeper.notes().size(), 1U);
  EXPECT_TRUE(keeper.notes()[0].starts_with("1 checkpoint could not be written: " + path + ".next.spdnn: "));
}

/// What a writer that was killed has left of it is removed with it.
TEST(RemovedCheckpoint, TakesUnfinishedFilesAlong) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  for (const std::string& name : {path, path + ".next.spdnn"}) {
    const pid_t writer = ::fork();
    if (writer == 0) {
      const Temporary unfinished(Temporary::Kind::file, directory.path(), name, 0600);
      ::_exit(0);
    }
    ::waitpid(writer, nullptr, 0);
  }
  ASSERT_FALSE(std::filesystem::is_empty(directory.path()));
  remove_checkpoint(path);
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST(KeptCheckpoints, AreWrittenWhereLessIsLeftAndCountTheirBytes) {
  const TemporaryDirectory directory;
  const std::string path = (directory / "run").string();
  CheckpointKeeper keeper(path, begun_checkpoint(), {});
  keeper.keep(begun_checkpoint(), [] { return std::nullopt; });
  EXPECT_FALSE(std::filesystem::exists(path)) << "nothing was done";
  std::uint64_t bytes = 0;
  const auto count = [&] {
    for (const auto& file : std::filesystem::directory_iterator(directory.path())) bytes += file.file_size();
  };
  keeper.keep(half_done(), activations_of_three());
  count();
  EXPECT_EQ(keeper.costs().written, 1);
  EXPECT_EQ(keeper.costs().bytes, bytes);
  EXPECT_EQ(keeper.begin().activations.size(), 1U);
  keeper.keep(half_done(), activations_of_three());
  EXPECT_EQ(keeper.costs().written, 1) << "as much is left as before";
  Checkpoint later = half_done();
  later.left = {{0, {8, 9}, {}}};
  keeper.keep(later, [] { return std::nullopt; });
  EXPECT_EQ(keeper.costs().written, 2);
  EXPECT_TRUE(keeper.begin().activations.empty());
  count();
  EXPECT_EQ(keeper.costs().bytes, bytes) << "the first one's activations are gone";
  EXPECT_TRUE(keeper.finish(half_done(), activations_of_three()).empty());
  Checkpoint left = begun_checkpoint();
  read_checkpoint(path, left);
  EXPECT_EQ(left.left_in_file, 6U) << "more would be left to do";
  EXPECT_TRUE(keeper.notes().empty());
}

}  // namespace
}  // namespace spdnn
