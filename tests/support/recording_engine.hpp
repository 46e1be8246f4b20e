#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engines/engine.hpp"

namespace spdnn::testing {

/// Computes nothing and records its calls. Takes two layers at a time; keeps images 0, 2, 4, ... of each
/// batch, and calls image 1 borderline where the plan is merged.
class RecordingEngine final : public Engine {
 public:
  static inline std::vector<std::string> calls;  ///< of all engines

  explicit RecordingEngine(std::shared_ptr<const Plan> plan)
      : plan_(std::move(plan)), name_(plan_->passes.merge ? "merged: " : "") {}

  void load(const ImageSet& images) override {
    images_ = images.images();
    record(fmt::format("load {}", images_));
  }
  void reset() override { record("reset"); }
  Index advance(Index first, Index until) override {
    const Index next = std::min(until, first + 2);
    record(fmt::format("advance {}..{} to {}", first, until, next));
    return next;
  }
  Outcome outcome() override {
    record("outcome");
    Outcome outcome;
    for (Index image = 0; image < images_; image += 2) outcome.categories.push_back(image);
    outcome.alive.assign(plan_->depth(), static_cast<std::int64_t>(outcome.categories.size()));
    if (plan_->passes.merge && images_ > 1) outcome.borderline = {1};
    return outcome;
  }

  static Variant variant() {
    return {
        "recording",
        Device::cpu,
        "for tests",
        {Precision::fp32},
        [](const Plan&, const BatchInfo&, const EngineOptions&) { return Support{}; },
        [](std::shared_ptr<const Plan> plan, const BatchInfo& batch, const EngineOptions&) -> std::unique_ptr<Engine> {
          calls.push_back(fmt::format("{}make for {}{}", plan->passes.merge ? "merged: " : "", batch.images,
                                      batch.binary ? ", binary" : ""));
          return std::make_unique<RecordingEngine>(std::move(plan));
        }};
  }

 private:
  void record(const std::string& call) const { calls.push_back(name_ + call); }

  std::shared_ptr<const Plan> plan_;
  std::string name_;
  Index images_ = 0;
};

}  // namespace spdnn::testing
