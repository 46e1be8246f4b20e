#include "program/choose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "model/graph/node_text.hpp"
#include "program/predict.hpp"
#include "spdnn/error.hpp"

namespace spdnn::program {

namespace {

/// Predicted seconds of the additional actions that an offer requires.
double seconds_around(const Kernels& kernels, const Request& request, const Offer& offer) {
  double seconds = 0;
  for (std::size_t i = 0; i < offer.inputs.size(); ++i) {
    const auto& [value, shape, layouts, bytes] = request.inputs[i];
    if (std::find(layouts.begin(), layouts.end(), offer.inputs[i]) != layouts.end()) continue;
    const Change change{shape, source_of_change(layouts, offer.inputs[i]), offer.inputs[i], request.threads, bytes};
    seconds += choose_change(kernels, change).offer.seconds;
  }
  if (!offer.fused)
    for (std::size_t i = 0; i < request.step.fused.size(); ++i)
      seconds += pass_seconds(2 * bytes_of(offer.output, request.output_shape()), request.threads);
  return seconds;
}

/// The predicted time of a kernel's best offer.
struct Considered {
  const Kernel* kernel;
  double seconds;
};

void consider(std::vector<Considered>& all, const Kernel& kernel, double seconds) {
  if (all.empty() || all.back().kernel != &kernel) all.push_back({&kernel, seconds});
  all.back().seconds = std::min(all.back().seconds, seconds);
}

std::string others_text(const std::vector<Considered>& all, const Kernel& chosen) {
  std::string text;
  for (const auto& [kernel, seconds] : all)
    if (kernel != &chosen)
      text += fmt::format("{}{} {:.1f} us", text.empty() ? "" : ", ", kernel->name(), 1e6 * seconds);
  return text;
}

}  // namespace

Wanted wanted(const Kernel& kernel, const Offer& offer) {
  Wanted wanted{std::string(kernel.name()), offer.detail, {}, text(offer.output), offer.fused};
  for (const Layout& layout : offer.inputs) wanted.inputs.push_back(text(layout));
  return wanted;
}

bool is_wanted(const Wanted& known, const Request& request, const Kernel& kernel, const Offer& offer) {
  if (kernel.name() != known.kernel || !offer.takes() || !why_unsound(request, offer).empty()) return false;
  const Wanted found = wanted(kernel, offer);
  return found.detail == known.detail && found.inputs == known.inputs && found.output == known.output &&
         (request.step.fused.empty() || found.fused == known.fused);
}

Choice choose(const Kernels& kernels, const Request& request, const Wanted* known) {
  Choice best;
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::string> remarks;
  std::vector<Considered> considered;
  std::string why_not;
  for (const Kernel* const kernel : kernels)
    for (Offer& offer : kernel->offers(request)) {
      if (!offer.takes()) {
        why_not += fmt::format("; {}: {}", kernel->name(), offer.why_not);
        if (!offer.remark.empty()) remarks.push_back(std::move(offer.remark));
        continue;
      }
      if (const std::string why = why_unsound(request, offer); !why.empty())
        throw std::logic_error(fmt::format("kernel {} {}", kernel->name(), why));
      const double predicted = offer.seconds + seconds_around(kernels, request, offer);
      consider(considered, *kernel, predicted);
      const double seconds = known != nullptr && is_wanted(*known, request, *kernel, offer) ? -1 : predicted;
      if (seconds >= least) continue;
      least = seconds;
      best.kernel = kernel;
      best.offer = std::move(offer);
    }
  if (best.kernel == nullptr)
    throw UsageError(fmt::format("no kernel supports {}{}", node_text(request.model, request.step.node), why_not));
  if (!best.offer.remark.empty()) remarks.push_back(best.offer.remark);
  best.remarks = std::move(remarks);
  best.others = others_text(considered, *best.kernel);
  return best;
}

Choice choose_change(const Kernels& kernels, const Change& change) {
  Choice best;
  for (const Kernel* const kernel : kernels) {
    Offer offer = kernel->change(change);
    if (!offer.takes() || (best.kernel != nullptr && offer.seconds >= best.offer.seconds)) continue;
    best.kernel = kernel;
    best.offer = std::move(offer);
  }
  if (best.kernel == nullptr)
    throw std::logic_error(fmt::format("no kernel changes {} into {}", text(change.from), text(change.to)));
  return best;
}

}  // namespace spdnn::program
