#pragma once

#include <fmt/format.h>

#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "cluster/communicator.hpp"
#include "core/system/stopwatch.hpp"
#include "inference/device/device_monitor.hpp"
#include "inference/device/device_start.hpp"
#include "inference/device/engine_choice.hpp"
#include "inference/ranks/rank_resources.hpp"

namespace spdnn {

/// The common part of inferences of networks and of models: ranks, the order of the steps, the device, the report.
template <class Spec, class Report>
class InferenceSteps {
 public:
  const Report& report() const { return report_; }

 protected:
  enum class Stage { begun, loaded, planned, run };

  /// `own` is the communicator of a single process, without other `ranks`. Starts a device if it is needed.
  InferenceSteps(Spec spec, std::unique_ptr<Communicator>&& own, Communicator* ranks, bool needs_cuda)
      : own_(std::move(own)),
        ranks_(ranks != nullptr ? *ranks : *own_),
        spec_(std::move(spec)),
        start_(needs_cuda, device_choice(ranks_.place(), spec_.cuda_device)) {
    if (!ranks_.is_root()) spec_.progress = {};
  }

  void require(bool before, std::string_view what) const {
    if (!before) throw std::logic_error(fmt::format("Inference: {}", what));
  }
  void begin_load() { require(stage_ == Stage::begun, "load() is called once"); }
  /// Returns false if planning is over.
  bool begin_plan() const {
    require(stage_ != Stage::begun, "plan() comes after load()");
    return stage_ == Stage::loaded;
  }
  /// Waits for the device.
  void begin_run() {
    require(stage_ >= Stage::planned, "run() comes after plan()");
    start_.wait();
    report_.seconds.start = start_.seconds();
  }
  /// Once the report has the device.
  void begin_monitoring() {
    if (spec_.device_state && report_.device == Device::cuda) monitor_ = monitor_of(start_.device(), ranks_.is_alone());
  }
  /// After the trials.
  void record_end() {
    report_.seconds.total = since_start_.seconds();
    if (monitor_) report_.device_state = monitor_->state();
  }

  const std::unique_ptr<Communicator> own_;
  Communicator& ranks_;
  Spec spec_;
  const Stopwatch since_start_;
  DeviceStart start_;
  Stage stage_ = Stage::begun;
  // On the root only:
  Report report_;
  std::unique_ptr<DeviceMonitor> monitor_;
};

}  // namespace spdnn
