#pragma once

#include <memory>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

/// A kernel of the host in programs for a device: it offers row-major tensors alone, which are what the device's
/// changes of layout know, and only for nodes that no kernel of the device supports.
class HostFallback final : public Kernel {
 public:
  /// `of_device` outlives the kernel.
  HostFallback(const Kernel& host, const Kernels& of_device) : host_(host), of_device_(of_device) {}

  std::string_view name() const override { return host_.name(); }
  std::vector<Offer> offers(const Request& request) const override;
  Offer change(const Change& change) const override;

 private:
  const Kernel& host_;
  const Kernels& of_device_;
};

}  // namespace spdnn::program
