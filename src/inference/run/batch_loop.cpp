#include "inference/run/batch_loop.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <utility>

#include "core/system/out_of_memory.hpp"
#include "core/system/stopwatch.hpp"
#include "core/text/amounts.hpp"
#include "core/threads/cancellation.hpp"
#include "core/threads/parallel.hpp"
#include "core/types/progress.hpp"
#include "engines/devices.hpp"
#include "inference/device/device_monitor.hpp"
#include "inference/run/pace.hpp"

namespace spdnn {

namespace {

/// Calls a monitor, if there is one, at its beginning and end, and for the trials in between.
class Watched {
 public:
  explicit Watched(DeviceMonitor* monitor) : monitor_(monitor) {
    if (monitor_ != nullptr) monitor_->begin();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;
  ~Watched() {
    if (monitor_ != nullptr) monitor_->end(trials_);
  }
  void trial_is_over() { ++trials_; }
  bool wants_more_trials() const { return monitor_ != nullptr && monitor_->wants_more(); }

 private:
  DeviceMonitor* monitor_;
  int trials_ = 0;
};

class BatchLoop {
  static constexpr Index kLooks = 32;  ///< whether to interrupt a batch, at least

 public:
  BatchLoop(Runnable& runnable, const LoopWork& work, const LoopOptions& options, LoopResult& result)
      : runnable_(runnable),
        work_(work),
        options_(options),
        result_(result),
        cancellation_(work.cancelled),
        stride_(work.steps / kLooks, options.look_seconds) {
    result_.infer_seconds.assign(static_cast<std::size_t>(options.trials), 0.0);
  }

  void run() {
    make();
    const Offset rounds = result_.batch == 0 ? 0 : (work_.images - 1) / result_.batch + 1;
    steps_ = rounds * static_cast<Offset>(options_.warm_up + options_.trials) * work_.steps;
    Progress progress(options_.progress, "infer", steps_);
    for (ImageRange batch = next_batch(); batch.count > 0 && run_range(batch, progress);) batch = next_batch();
    if (options_.batches != nullptr) progress.update(steps_);
  }

 private:
  /// Has no images at the end. Images taken by other processes in the meantime count as done.
  ImageRange next_batch() {
    if (options_.batches == nullptr) {
      const Index first = std::exchange(next_, next_ + std::min(result_.batch, work_.images - next_));
      return {first, next_ - first};
    }
    const ImageRange batch = options_.batches->take({work_.least, result_.batch});
    if (batch.count > 0) done_ = steps_ * batch.first / work_.images;
    return batch;
  }

  /// In one batch, or in smaller ones once memory has run out. Returns false if the run was ended.
  bool run_range(ImageRange left, Progress& progress) {
    while (left.count > 0) {
      const ImageRange batch{left.first, std::min(result_.batch, left.count)};
      bool goes_on = true;
      if (!has_memory_for(batch.count, [&] { goes_on = run_batch(batch, progress); })) {
        make();
        continue;
      }
      if (!goes_on) return false;
      gather(batch);
      left = {left.first + batch.count, left.count - batch.count};
    }
    return true;
  }

  void make() {
    const auto make_once = [&] {
      const Stopwatch watch;
      runnable_.make(result_.batch);
      result_.upload_seconds += watch.seconds();
    };
    while (!has_memory_for(result_.batch, make_once)) continue;
  }

  /// Returns work(). If that runs out of memory, and half as many images may take less, returns false: the batch is
  /// smaller from now on, and the lost time counts as upload.
  template <class Work>
  bool has_memory_for(Index images, Work&& work) {
    const LoopTimes before = result_;
    const Offset done = done_;
    const Stopwatch watch;
    const bool may_shrink = options_.batch == 0 && images > 1;
    try {
      work();
      return true;
    } catch (const std::bad_alloc&) {
      if (!may_shrink) throw;
    } catch (const OutOfMemory&) {
      if (!may_shrink) throw;
    }
    static_cast<LoopTimes&>(result_) = before;
    result_.upload_seconds += watch.seconds();
    done_ = done;
    result_.batch = (images + 1) / 2;
    result_.notes.push_back(fmt::format("memory ran out with {} at a time; from there on at most {} at a time",
                                        counted(images, "image", "images"), result_.batch));
    return false;
  }

  /// Returns false if the run was ended.
  bool run_batch(const ImageRange& batch, Progress& progress) {
    Stopwatch watch;
    runnable_.load(batch);
    const double load_seconds = watch.lap();
    result_.upload_seconds += load_seconds;
    result_.load_seconds += load_seconds;
    for (int trial = 0; trial < options_.warm_up; ++trial) run_uncounted(progress);
    if (options_.warm_up > 0) result_.warm_up_seconds += watch.lap();
    Watched watched(options_.monitor);
    for (int trial = 0; trial < options_.trials; ++trial) {
      infer_.lap();
      runnable_.reset();
      if (!advance(progress, &batch)) return false;
      runnable_.finish();
      result_.infer_seconds[static_cast<std::size_t>(trial)] += infer_.seconds();
      watch.lap();
      runnable_.keep(trial);
      result_.gather_seconds += watch.lap();
      watched.trial_is_over();
    }
    while (watched.wants_more_trials() && !due()) {
      repeat_unseen();
      result_.warm_up_seconds += watch.lap();
      watched.trial_is_over();
    }
    return true;
  }

  void gather(const ImageRange& batch) {
    const Stopwatch watch;
    runnable_.gather(batch);
    result_.batches.push_back(batch);
    result_.gather_seconds += watch.seconds();
  }

  void run_uncounted(Progress& progress) {
    runnable_.reset();
    advance(progress, nullptr);
    runnable_.finish();
  }

  /// A trial that counts in no time and that progress does not show.
  void repeat_unseen() {
    const Offset done = done_;
    Progress unseen({}, "infer", 0);
    run_uncounted(unseen);
    done_ = done;
  }

  bool due() { return work_.may_be_interrupted && runnable_.due_in() <= 0; }

  /// From the first step to the last, or to one at which the run is ended: then false. Without `batch`, it is not
  /// interrupted.
  bool advance(Progress& progress, const ImageRange* batch) {
    const bool may_stop = work_.may_be_interrupted && batch != nullptr;
    Pace pace;
    Stopwatch since_wait;
    for (Index step = 0; step < work_.steps;) {
      cancellation_.check();
      Index at_once = work_.steps;
      if (may_stop) {
        double due_in = runnable_.due_in();
        if (due_in <= 0) {
          if (!interrupt(*batch, step)) return false;
          due_in = runnable_.due_in();
          since_wait.lap();
        }
        at_once =
            work_.device == Device::cpu ? stride_.layers_within(due_in) : std::max<Index>(1, work_.steps / kLooks);
      }
      const Index next = runnable_.advance(step, std::min(work_.steps - step, at_once) + step);
      done_ += next - step;
      progress.update(std::min(done_, steps_));
      const Index taken = next - std::exchange(step, next);
      if (!may_stop) continue;
      if (work_.device == Device::cpu) {
        stride_.took(taken, since_wait.lap());
      } else if (step < work_.steps && pace.due()) {
        wait_for(work_.device, work_.ordinal);
        pace.waited(since_wait.lap());
      }
    }
    return true;
  }

  /// Called before `step` of the batch. Returns whether the run continues.
  bool interrupt(const ImageRange& batch, Index step) {
    wait_for(work_.device, work_.ordinal);
    result_.infer_seconds.front() += infer_.lap();
    const bool goes_on = runnable_.interrupt(batch, step);
    result_.interrupted_seconds += infer_.lap();
    return goes_on;
  }

  Runnable& runnable_;
  const LoopWork& work_;
  const LoopOptions& options_;
  LoopResult& result_;
  Cancellation cancellation_;  ///< between batches, trials and steps, for engines that do not ask
  Stride stride_;
  Index next_ = 0;    ///< the first image of the next batch
  Offset steps_ = 0;  ///< to do, over batches and trials
  Offset done_ = 0;   ///< of these
  Stopwatch infer_;   ///< since the trial began, or went on after an interruption
};

}  // namespace

void check_settings(const RunSettings& settings) {
  if (settings.trials < 1) throw UsageError("trials", fmt::format("{}, expected at least 1", settings.trials));
  if (settings.warm_up < 0) throw UsageError("warm_up", fmt::format("{}, expected at least 0", settings.warm_up));
  require_threads(settings.threads);
}

void run_in_batches(Runnable& runnable, const LoopWork& work, const LoopOptions& options, LoopResult& result) {
  BatchLoop(runnable, work, options, result).run();
}

}  // namespace spdnn
