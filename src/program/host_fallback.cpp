#include "program/host_fallback.hpp"

#include <algorithm>

namespace spdnn::program {

std::vector<Offer> HostFallback::offers(const Request& request) const {
  Request from_rows = request;
  for (Input& input : from_rows.inputs) input.layouts = {kRows};
  std::vector<Offer> offers = host_.offers(from_rows);
  std::erase_if(offers, [](const Offer& offer) {
    const bool reads_rows =
        std::all_of(offer.inputs.begin(), offer.inputs.end(), [](const Layout& layout) { return layout == kRows; });
    return offer.takes() && !(reads_rows && offer.output == kRows);
  });
  const auto takes = [](const Offer& offer) { return offer.takes(); };
  const auto takes_it = [&](const Kernel* kernel) {
    const std::vector<Offer> of_kernel = kernel->offers(request);
    return std::any_of(of_kernel.begin(), of_kernel.end(), takes);
  };
  if (!offers.empty() && std::any_of(of_device_.begin(), of_device_.end(), takes_it)) return {};
  return offers;
}

Offer HostFallback::change(const Change& change) const {
  if (on_device(change.from) || on_device(change.to)) return {.why_not = "changes layouts of the host alone"};
  return host_.change(change);
}

}  // namespace spdnn::program
