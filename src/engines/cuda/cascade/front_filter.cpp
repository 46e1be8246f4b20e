#include "engines/cuda/cascade/front_filter.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "engines/cuda/layers/activation.hpp"

namespace spdnn {

namespace {

constexpr double kUnitRoundoff = 0x1p-24;
constexpr double kSmallest = 0x1p-149;
constexpr double kUpwards = 1 + 0x1p-30;  ///< exceeds the rounding errors of computations in double, below

double gamma(double roundings) { return roundings * kUnitRoundoff / (1 - roundings * kUnitRoundoff); }

/// The filter in units of 1 / scale; nothing if it does not fit into 16 bits, or if a margin is above the cap.
std::optional<FrontFilter> filter_of(const Front& front, const CascadeLayer& first, double cap, Index scale) {
  const double units = scale;
  const double whole_cap = std::floor(units * cap);
  if (units * -first.bias > kFilterMost || units * first.weight * kTabled > kFilterMost) return {};
  FrontFilter filter{.scale = scale,
                     .weight = static_cast<Index>(std::lround(units * first.weight)),
                     .cap = static_cast<Index>(whole_cap),
                     .steps = {{.bias = static_cast<Index>(std::lround(units * -first.bias))}}};
  double error = 0;
  double largest = 0;
  for (std::size_t count = 0; count < front.activations.size(); ++count) {
    const double sum = static_cast<double>(count) * filter.weight - filter.steps[0].bias;
    error = std::max(error, std::abs(units * front.activations[count] - std::clamp(sum, 0.0, whole_cap)));
    largest = std::max(largest, static_cast<double>(front.activations[count]));
  }
  for (std::size_t number = 1; number < front.steps.size(); ++number) {
    const FrontLayer& layer = front.steps[number];
    const double bias = units * -layer.bias;
    if (bias > kFilterMost || !(layer.weight > 0)) return {};
    const double gain = static_cast<double>(layer.pairs) * layer.weight;
    const double sum = gain * 2 * largest;
    const double roundings = 2.0 * layer.pairs + 1;
    const double rounding = gamma(roundings) * (sum - layer.bias) + roundings * kSmallest;
    const double apart =
        2 * error + units * (std::abs(gain - 1) * 2 * largest + rounding) + std::abs(bias - std::round(bias));
    const double margin = std::floor(apart * kUpwards) + 1;
    if (2 * whole_cap + margin > kFilterMost || margin > whole_cap) return {};
    filter.steps.push_back({.bias = static_cast<Index>(std::lround(bias)), .margin = static_cast<Index>(margin)});
    error = std::max(apart, units * cap - whole_cap);
    largest = std::min(cap, sum * (1 + gamma(roundings)));
  }
  return filter;
}

/// The width of the intervals in which sums are undecided, added over the layers, in units of activations.
double undecided(const FrontFilter& filter) {
  double width = 0;
  for (std::size_t number = 1; number < filter.steps.size(); ++number) width += filter.steps[number].margin;
  return width / filter.scale;
}

}  // namespace

std::optional<FrontFilter> find_filter(const Front& front, const CascadeProgram& program, const Plan& plan) {
  const double cap = cuda::activation_of(plan).cap;
  const bool retires_zeros = plan.passes.dead && plan.certificates.dead_from <= front.layers;
  const bool images_die =
      std::any_of(front.steps.begin() + 1, front.steps.end(), [](const FrontLayer& layer) { return layer.bias < 0; });
  const bool power_of_two = std::all_of(front.steps.begin() + 1, front.steps.end(),
                                        [](const FrontLayer& layer) { return std::has_single_bit(layer.shift); });
  if (!retires_zeros || !images_die || !power_of_two || !(cap > 0) || !(program.layers.front().weight > 0)) return {};
  std::optional<FrontFilter> best;
  for (Index scale = 1; 2 * cap * scale <= kFilterMost; ++scale) {
    const std::optional<FrontFilter> filter = filter_of(front, program.layers.front(), cap, scale);
    if (filter && (!best || undecided(*filter) < undecided(*best))) best = filter;
  }
  return best;
}

bool even_image_dies(const Front& front, const FrontFilter& filter, double lit) {
  double input = lit * front.words_per_class * filter.weight;  // each of a neuron's two
  for (const FrontFilter::Step& step : filter.steps) {
    const double sum = 2 * input - step.bias;
    if (sum <= 0) return true;
    input = std::min(sum, static_cast<double>(filter.cap));
  }
  return false;
}

}  // namespace spdnn
