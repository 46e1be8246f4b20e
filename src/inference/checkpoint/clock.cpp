#include "inference/checkpoint/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/text/amounts.hpp"

namespace spdnn {

namespace {

/// The assumed share of a run's time for writing a checkpoint, until one has been written.
constexpr double kFirstGuess = 0.01;

}  // namespace

/// A run whose time is limited writes one in the middle of it, and so knows how long that takes.
CheckpointClock::CheckpointClock(Settings settings, std::function<double()> now)
    : now_(std::move(now)),
      stop_(std::move(settings.stop)),
      end_(now_() + settings.time_left),
      asked_(settings.every == kNever ? kNever : std::min(settings.every, settings.time_left / 2)),
      every_(asked_),
      interval_(asked_),
      began_(now_()),
      writing_(settings.time_left == kNever ? 0 : kFirstGuess * settings.time_left) {}

void CheckpointClock::begin() {
  began_ = now_();
  looked_.reset();
}

/// Seconds that the last checkpoint takes, and before it one that is being written.
double CheckpointClock::time_to_write(double now) const {
  return writing_since_ ? 2 * std::max(writing_, now - *writing_since_) : writing_;
}

double CheckpointClock::due_in() {
  const std::lock_guard lock(mutex_);
  const double now = now_();
  longest_look_ = std::max(longest_look_, now - looked_.value_or(now));
  looked_ = now;
  if (!ends_ && stop_ && stop_()) ends_ = true;
  const double time = end_ - now - time_to_write(now) - longest_look_;
  if (!ends_ && time <= 0) {
    ends_ = true;
    why_ = fmt::format(
        "{} before its time is up: a checkpoint takes {}, and the interval between two checks of the clock up to {}",
        seconds_text(std::max(0.0, end_ - now)), seconds_text(writing_), seconds_text(longest_look_));
  }
  return ends_ ? 0 : std::min(time, began_ + interval_ - now);
}

CheckpointClock::Statement CheckpointClock::begin_writing() {
  const std::lock_guard lock(mutex_);
  writing_since_ = now_();
  interval_ = every_;
  return {every_, every_ + longest_look_ + writing_};
}

void CheckpointClock::go_on() {
  began_ = now_();
  looked_ = began_;
}

void CheckpointClock::written(double seconds) {
  const std::lock_guard lock(mutex_);
  writing_since_.reset();
  writing_ = seconds;
  every_ = std::max(asked_, seconds / kMostShare);
}

void CheckpointClock::adopt(double writing, double every) {
  const std::lock_guard lock(mutex_);
  writing_ = writing;
  every_ = every;
}

double CheckpointClock::every() const {
  const std::lock_guard lock(mutex_);
  return every_;
}

double CheckpointClock::writing() const {
  const std::lock_guard lock(mutex_);
  return writing_;
}

}  // namespace spdnn
