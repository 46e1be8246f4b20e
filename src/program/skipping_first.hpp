#pragma once

#include <memory>
#include <vector>

#include "program/kernel.hpp"

namespace spdnn::program {

/// The policy that a program's choices are compared with: zeros are skipped wherever a kernel does, however long that
/// takes.
class SkippingFirst {
 public:
  /// The kernels that skip zeros, and others for the nodes that none of them supports.
  SkippingFirst(Kernels skipping, const Kernels& others);
  const Kernels& kernels() const { return kernels_; }

 private:
  std::vector<std::unique_ptr<Kernel>> otherwise_;
  Kernels kernels_;
};

}  // namespace spdnn::program
