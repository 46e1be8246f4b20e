// The commands that benchmarks run, how these end, and the reasons that they leave. tests/cli has whole benchmarks.

#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "bench/child_run.hpp"
#include "bench/run_folder.hpp"
#include "spdnn/error.hpp"
#include "support/message_of.hpp"

namespace spdnn::bench {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

TEST(BenchCommand, ALauncherIsToldTheNumberOfRanksWhereverItAsks) {
  const std::string program = fs::read_symlink("/proc/self/exe").native();
  EXPECT_EQ(infer_command({}, 3), (Words{program, "infer"}));
  EXPECT_EQ(infer_command(" mpirun  -np {ranks} --of={ranks}x1 ", 12),
            (Words{"mpirun", "-np", "12", "--of=12x1", program, "infer"}));
  EXPECT_EQ(testing::message_of<UsageError>([] { infer_command("  ", 1); }), "--launcher: expected a command");
}

TEST(BenchCommand, OtherRanksThanAskedForAreNoticedBeTheyFewerOrMore) {
  const auto message = [](int ran) {
    return testing::message_of<DeviceError>([&] { check_ranks({{"machine", {{"ranks", ran}}}}, 2); });
  };
  EXPECT_EQ(message(1), "--launcher: 1 ranks ran, expected 2");
  EXPECT_EQ(message(2), "no error");
  EXPECT_EQ(message(3), "--launcher: 3 ranks ran, expected 2");
}

TEST(BenchCommand, ALineNeedsEachFieldThatBenchmarksRead) {
  const Json whole = parse_json(
      R"({"variant":"v","seconds":{"infer":{"min":1,"median":2,"max":3},"total":4},"rate":5,"rate_computed":null,)"
      R"("rate_with_setup":6,"rate_end_to_end":7,"verdict":{"status":"PASSED"},"machine":{}})");
  const auto refused = [](const Json& line) {
    const std::string text = json_text(line);
    return testing::message_of<DataError>([&] { check_run(JsonFields("f:1", text)); }) != "no error";
  };
  EXPECT_FALSE(refused(whole));
  const std::vector<Words> paths{{"variant"},
                                 {"seconds", "infer"},
                                 {"seconds", "infer", "min"},
                                 {"seconds", "infer", "max"},
                                 {"seconds", "total"},
                                 {"rate"},
                                 {"rate_computed"},
                                 {"rate_with_setup"},
                                 {"rate_end_to_end"},
                                 {"verdict", "status"},
                                 {"machine"}};
  for (const Words& path : paths) {
    Json less = whole;
    Json other = whole;
    Json* of_less = &less;
    Json* of_other = &other;
    for (std::size_t i = 0; i + 1 < path.size(); ++i) {
      of_less = &(*of_less)[path[i]];
      of_other = &(*of_other)[path[i]];
    }
    of_less->erase(path.back());
    (*of_other)[path.back()] = Json::array();
    EXPECT_TRUE(refused(less)) << path.back();
    EXPECT_TRUE(refused(other)) << path.back();
  }
}

class BenchRuns : public ::testing::Test {
 protected:
  CommandEnd shell(const std::string& script, std::optional<double> limit = {}) const {
    return run_command({"sh", "-c", script}, {.messages = messages_, .limit_seconds = limit});
  }
  std::string said() const {
    std::ostringstream text;
    text << std::ifstream(messages_).rdbuf();
    return text.str();
  }
  std::string reason(const std::string& text) const {
    std::ofstream(messages_) << text;
    return reason_in(messages_);
  }

  RunFolder folder_{::testing::TempDir(), "bench"};
  fs::path messages_ = folder_.messages();
};

TEST_F(BenchRuns, EndWithTheirCodeOrThatOfTheirSignal) {
  EXPECT_EQ(shell("exit 0").code, 0);
  EXPECT_EQ(shell("exit 7").code, 7);
  EXPECT_EQ(shell("kill -KILL $$").code, 128 + SIGKILL);
  EXPECT_EQ(testing::message_of<DeviceError>([] { run_command({"./no such command"}); }),
            "cannot start ./no such command: No such file or directory");
}

TEST_F(BenchRuns, SayNothingButWhatTheLastOneSaid) {
  ::testing::internal::CaptureStdout();
  shell("echo result; echo a longer message of the first run >&2");
  shell("echo second >&2");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
  EXPECT_EQ(said(), "second\n");
}

TEST_F(BenchRuns, OverTheLimitAreEndedAndAreNotMistakenForOthers) {
  const CommandEnd over = shell("exec sleep 600", 0.01);
  EXPECT_TRUE(over.over_limit);
  EXPECT_EQ(over.code, 128 + SIGTERM);
  const CommandEnd within = shell("exit 3", 600);
  EXPECT_FALSE(within.over_limit);
  EXPECT_EQ(within.code, 3);
}

/// The program itself blocks and ignores signals that its runs are to be ended by.
TEST_F(BenchRuns, TakeSignalsThatThisProcessBlocksOrIgnores) {
  sigset_t usr1;
  sigset_t before;
  ::sigemptyset(&usr1);
  ::sigaddset(&usr1, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &usr1, &before);
  const int blocked = shell("kill -USR1 $$; exit 0").code;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  const auto handler = std::signal(SIGUSR2, SIG_IGN);
  const int ignored = shell("kill -USR2 $$; exit 0").code;
  std::signal(SIGUSR2, handler);
  EXPECT_EQ(blocked, 128 + SIGUSR1);
  EXPECT_EQ(ignored, 128 + SIGUSR2);
}

TEST_F(BenchRuns, LeaveTheirReasonOnOneLine) {
  EXPECT_EQ(reason(""), "it printed no message");
  EXPECT_EQ(reason("\n-----\n  \n"), "it printed no message");
  EXPECT_EQ(reason("loading\nspdnn: f:3: too\tlong\nspdnn: second\n"), "f:3: too\\x09long");
  EXPECT_EQ(reason("rank 0: spdnn: lost\n"), "lost");
  EXPECT_EQ(reason("----\n  Too few\tslots.\n\n\tSorry.\n----\n"), "Too few\\x09slots. Sorry.");
  EXPECT_EQ(reason(std::string(300, 'x') + "\n"), std::string(300, 'x'));
  EXPECT_EQ(reason(std::string(301, 'x') + "\nmore\n"), std::string(300, 'x') + " ...");
  EXPECT_EQ(reason(std::string(400, 'x') + "\nspdnn: the reason\n"), "the reason");
}

TEST_F(BenchRuns, HaveAFolderThatIsGoneAfterwards) {
  const fs::path scratch = folder_.file("new") / "scratch";
  fs::path line;
  {
    const RunFolder folder(scratch, "name");
    line = folder.line();
    EXPECT_EQ(line.filename(), "run.json");
    EXPECT_EQ(line.parent_path(), folder.messages().parent_path());
    std::ofstream(line) << "{}";
    EXPECT_EQ(line.parent_path().parent_path(), scratch);
  }
  EXPECT_TRUE(fs::exists(scratch));
  EXPECT_TRUE(fs::is_empty(scratch));
}

TEST(BenchCommand, AShellReadsItsTextAsTheSameWords) {
  EXPECT_EQ(shell_text({"a", "", "b c", "it's", "--x=1,2", "A_z-0./:+@%", "$x", "*", "\n", "é"}),
            "a '' 'b c' 'it'\\''s' --x=1,2 A_z-0./:+@% '$x' '*' '\n' 'é'");
  Words command{"spdnn"};
  add_option(command, "inputs", "a b");
  EXPECT_EQ(command, (Words{"spdnn", "--inputs", "a b"}));
}

}  // namespace
}  // namespace spdnn::bench
