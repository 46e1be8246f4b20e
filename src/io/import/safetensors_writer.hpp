#pragma once

#include <string>
#include <vector>

#include "io/atomic_file.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

struct NamedTensor {
  std::string name;
  Tensor tensor;
};

/// Writes a .safetensors file of fp32 tensors, one after another in this order.
void write_safetensors(AtomicFile& file, const std::vector<NamedTensor>& tensors);

}  // namespace spdnn
