#include "program/skipping_first.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace spdnn::program {

namespace {

bool takes(const Kernels& kernels, const Request& request) {
  return std::any_of(kernels.begin(), kernels.end(), [&](const Kernel* kernel) {
    const std::vector<Offer> offers = kernel->offers(request);
    return std::any_of(offers.begin(), offers.end(), [](const Offer& offer) { return offer.takes(); });
  });
}

/// A kernel for nodes that none of some others supports.
class OtherwiseKernel final : public Kernel {
 public:
  OtherwiseKernel(const Kernel& kernel, Kernels preferred) : kernel_(kernel), preferred_(std::move(preferred)) {}
  std::string_view name() const override { return kernel_.name(); }
  std::vector<Offer> offers(const Request& request) const override {
    return takes(preferred_, request) ? std::vector<Offer>() : kernel_.offers(request);
  }
  Offer change(const Change& change) const override { return kernel_.change(change); }

 private:
  const Kernel& kernel_;
  Kernels preferred_;
};

}  // namespace

SkippingFirst::SkippingFirst(Kernels skipping, const Kernels& others) : kernels_(std::move(skipping)) {
  const Kernels preferred = kernels_;
  for (const Kernel* const kernel : others)
    kernels_.push_back(otherwise_.emplace_back(std::make_unique<OtherwiseKernel>(*kernel, preferred)).get());
}

}  // namespace spdnn::program
