#pragma once

#include <gtest/gtest.h>

#include "engines/engine.hpp"

namespace spdnn::cuda {

/// Calls work(variant) for each variant of this build for CUDA devices.
template <class Work>
void for_each_cuda_variant(const Work& work) {
  for (const Variant& variant : variants()) {
    if (variant.device != Device::cuda) continue;
    SCOPED_TRACE(variant.name);
    work(variant);
  }
}

}  // namespace spdnn::cuda
