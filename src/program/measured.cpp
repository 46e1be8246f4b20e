#include "program/measured.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "core/system/stopwatch.hpp"
#include "program/trial.hpp"

namespace spdnn::program {

namespace {

constexpr double kHopeless = 10;   ///< predicted over the least measured
constexpr double kSeconds = 4e-3;  ///< of runs of one offer
constexpr int kLeastRuns = 3;

/// Every number of the inputs is 1/2, in fp32 and in bf16: times do not depend on them.
void fill_with_halves(std::byte* to, const Layout& layout, const Shape& shape) {
  constexpr std::uint16_t kHalf = 0x3f00;  // twice, it is an fp32 number just above 1/2
  std::fill_n(reinterpret_cast<std::uint16_t*>(to), bytes_of(layout, shape) / sizeof(kHalf), kHalf);
}

double shortest_run(Trial trial) {
  trial.seconds(1);  // touches the memory
  double least = std::numeric_limits<double>::infinity();
  const Stopwatch all;
  for (int run = 0; run < kLeastRuns || all.seconds() < kSeconds; ++run)
    least = std::min(least, trial.seconds(1).front());
  return least;
}

std::string step_text(const Request& request) {
  return fmt::format("{} {} {} {}", request.step.node, request.step.fused.size(), request.images, request.threads);
}

std::string offer_text(std::string_view kernel, const Offer& offer) {
  std::string all = fmt::format("{} {} {} {}", kernel, offer.detail, offer.fused, text(offer.output));
  for (const Layout& layout : offer.inputs) all += " " + text(layout);
  return all;
}

}  // namespace

double MeasuredKernels::Times::measured(const std::string& name, double predicted, Trial trial) {
  const double found = shortest_run(std::move(trial));
  if (predicted > 0) {
    ratios[name].sum_of_logarithms += std::log(found / predicted);
    ratios[name].count += 1;
  }
  return found;
}

Calibration MeasuredKernels::calibration() const {
  Calibration calibration;
  for (const auto& [name, ratio] : times_.ratios) calibration[name] = std::exp(ratio.sum_of_logarithms / ratio.count);
  return calibration;
}

class MeasuredKernels::Measured final : public Kernel {
 public:
  Measured(const Kernel& kernel, Times& times, Target* target) : kernel_(kernel), times_(times), target_(target) {}

  std::string_view name() const override { return kernel_.name(); }

  std::vector<Offer> offers(const Request& request) const override {
    std::vector<Offer> all = kernel_.offers(request);
    for (Offer& offer : all)
      if (offer.takes() && why_unsound(request, offer).empty()) offer.seconds = seconds_of(request, offer);
    return all;
  }

  Offer change(const Change& change) const override {
    Offer offer = kernel_.change(change);
    if (!offer.takes()) return offer;
    std::string key = fmt::format("{} {} {} {}", name(), offer.detail, text(change.from), text(change.to));
    for (const Extent extent : change.shape) key += fmt::format(" {}", extent);
    const auto [place, is_new] = times_.seconds.try_emplace(key);
    if (is_new)
      place->second = times_.measured(calibrated_name(name(), offer), offer.seconds,
                                      Trial(change, offer, fill_with_halves, target_));
    offer.seconds = place->second;
    return offer;
  }

 private:
  double seconds_of(const Request& request, const Offer& offer) const {
    const std::string step = step_text(request);
    double& least = times_.least.try_emplace(step, std::numeric_limits<double>::infinity()).first->second;
    const auto [place, is_new] = times_.seconds.try_emplace(step + " " + offer_text(name(), offer), offer.seconds);
    if (is_new && offer.seconds < kHopeless * least) {
      place->second = times_.measured(calibrated_name(name(), offer), offer.seconds,
                                      Trial(request, offer, fill_with_halves, target_));
      least = std::min(least, place->second);
    }
    return place->second;
  }

  const Kernel& kernel_;
  Times& times_;
  Target* target_;
};

MeasuredKernels::MeasuredKernels(const Kernels& kernels, Target* target) {
  for (const Kernel* const kernel : kernels) {
    owned_.push_back(std::make_unique<Measured>(*kernel, times_, target));
    kernels_.push_back(owned_.back().get());
  }
}

MeasuredKernels::~MeasuredKernels() = default;

}  // namespace spdnn::program
