#include "inference/checkpoint/clock.hpp"

#include <gtest/gtest.h>

namespace spdnn {
namespace {

/// A clock whose time a test sets.
class CheckpointClockTest : public ::testing::Test {
 protected:
  CheckpointClock clock(double every, double time_left = CheckpointClock::kNever) {
    return {{.every = every, .time_left = time_left, .stop = [this] { return stop_; }}, [this] { return now_; }};
  }

  double now_ = 1000;
  bool stop_ = false;
};

TEST_F(CheckpointClockTest, ACheckpointIsDueAfterTheInterval) {
  CheckpointClock clock = this->clock(10);
  EXPECT_EQ(clock.due_in(), 10);
  now_ += 4;
  EXPECT_EQ(clock.due_in(), 6);
  now_ += 8;
  EXPECT_EQ(clock.due_in(), -2);
  EXPECT_FALSE(clock.ends());
  now_ += 0.25;
  clock.written(0.25);
  clock.go_on();
  EXPECT_EQ(clock.due_in(), 10);
}

TEST_F(CheckpointClockTest, OnRequestTheRunEndsAtOnceAndForGood) {
  CheckpointClock clock = this->clock(CheckpointClock::kNever);
  EXPECT_EQ(clock.due_in(), CheckpointClock::kNever);
  stop_ = true;
  EXPECT_EQ(clock.due_in(), 0);
  stop_ = false;
  EXPECT_EQ(clock.due_in(), 0);
  EXPECT_TRUE(clock.ends());
  EXPECT_EQ(clock.why(), "");
}

TEST_F(CheckpointClockTest, TheIntervalIsAtLeastTwentyTimesWhatWritingTakes) {
  CheckpointClock clock = this->clock(10);
  clock.written(0.5);
  EXPECT_FALSE(clock.grown());
  clock.written(2);
  EXPECT_TRUE(clock.grown());
  EXPECT_EQ(clock.every(), 40);
  clock.written(0.6);
  EXPECT_DOUBLE_EQ(clock.every(), 12);
}

TEST_F(CheckpointClockTest, ACheckpointIsFollowedByTheNextWithinTheTimeThatItStates) {
  CheckpointClock clock = this->clock(10);
  for (const double writing : {2.0, 1.0, 0.1, 0.1}) {
    const double stated = clock.begin_writing().every;
    clock.written(writing);
    clock.go_on();
    EXPECT_EQ(clock.due_in(), stated) << writing;
    clock.go_on();
  }
  EXPECT_EQ(clock.due_in(), 10);
}

TEST_F(CheckpointClockTest, ARunEndsWhileThereIsTimeForALayerAndACheckpoint) {
  CheckpointClock clock = this->clock(30, 100);
  EXPECT_EQ(clock.due_in(), 30);
  for (int i = 0; i < 6; ++i) {
    now_ += 5;
    clock.due_in();
  }
  EXPECT_FALSE(clock.ends());
  now_ += 2;
  clock.written(2);
  clock.go_on();  // the 2 seconds are no layer's
  EXPECT_EQ(clock.due_in(), 30);
  EXPECT_EQ(clock.begin_writing().next_within, 40 + 5 + 2);
  clock.written(2);
  now_ += 5;
  clock.due_in();
  now_ = 1092;
  EXPECT_LE(clock.due_in(), 0);  // the longest stretch is one of 55 seconds now
  EXPECT_TRUE(clock.ends());
  EXPECT_EQ(clock.why(),
            "8 s before its time is up: a checkpoint takes 2 s, and the interval between two checks of the clock up to "
            "55 s");
}

TEST_F(CheckpointClockTest, TheEndIsDueWhereTheTimeLeftIsWhatItTakes) {
  CheckpointClock clock = this->clock(CheckpointClock::kNever, 100);
  clock.due_in();
  now_ += 5;
  EXPECT_EQ(clock.due_in(), 100 - 5 - 5 - 1);  // a hundredth, until a checkpoint has been written
  clock.adopt(20, CheckpointClock::kNever);
  EXPECT_EQ(clock.due_in(), 100 - 5 - 5 - 20);
  now_ += 69.5;
  clock.due_in();
  EXPECT_TRUE(clock.ends());
}

TEST_F(CheckpointClockTest, WhileACheckpointIsWrittenTheEndIsDueInTimeForItAndTheLast) {
  CheckpointClock clock = this->clock(CheckpointClock::kNever, 100);
  clock.begin_writing();
  clock.go_on();
  EXPECT_EQ(clock.due_in(), 100 - 2 * 1);
  now_ += 12;
  EXPECT_EQ(clock.due_in(), 100 - 12 - 12 - 2 * 12) << "it has taken 12 seconds so far";
  clock.written(12);
  EXPECT_EQ(clock.due_in(), 100 - 12 - 12 - 12);
}

TEST_F(CheckpointClockTest, ALimitedTimeHasACheckpointInItsMiddle) {
  EXPECT_EQ(clock(900, 100).due_in(), 50);
  EXPECT_EQ(clock(20, 100).due_in(), 20);
  EXPECT_EQ(clock(CheckpointClock::kNever, 100).due_in(), 99);
}

/// What was before, such as waiting for the others, is no layer's time; the interval begins there, too.
TEST_F(CheckpointClockTest, ItBeginsWithTheRun) {
  CheckpointClock clock = this->clock(CheckpointClock::kNever, 100);
  clock.due_in();
  now_ += 40;
  clock.begin();
  EXPECT_EQ(clock.due_in(), 100 - 40 - 1);
  CheckpointClock every = this->clock(10);
  now_ += 40;
  every.begin();
  EXPECT_EQ(every.due_in(), 10);
}

TEST_F(CheckpointClockTest, ATimeThatIsOverHasNoSecondsLeft) {
  CheckpointClock clock = this->clock(CheckpointClock::kNever, 100);
  clock.due_in();
  now_ += 130;
  EXPECT_EQ(clock.due_in(), 0);
  EXPECT_EQ(clock.why(),
            "0 s before its time is up: a checkpoint takes 1 s, and the interval between two checks of the clock up to "
            "130 s");
}

TEST_F(CheckpointClockTest, WithoutTimeTheRunEndsAtOnce) {
  CheckpointClock clock = this->clock(900, 0);
  EXPECT_EQ(clock.due_in(), 0);
  EXPECT_TRUE(clock.ends());
}

}  // namespace
}  // namespace spdnn
