#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/import/safetensors_writer.hpp"

namespace spdnn {

struct ModelFamilyOptions {
  std::string family;      ///< lenet5 or vgg8
  double sparsity = 0.9;   ///< of each layer's weights, so many are zero: 0 to below 1
  std::uint64_t seed = 1;  ///< the same seed gives the same weights
};

/// What a .safetensors file and architecture.json beside it hold.
struct GeneratedModel {
  std::string architecture;
  std::vector<NamedTensor> tensors;
  std::uint64_t weights = 0;
  std::uint64_t nonzeros = 0;
};

/// A pruned CNN with random weights, for images of 1 x 28 x 28 and 10 classes: lenet5 (2 convolutions, 2 linear nodes)
/// or vgg8 (6 and 2). In each layer exactly the same share of weights is not zero, drawn without replacement, each
/// normal with the deviation that keeps activations at one size (He et al. 2015, for the inputs that are left). It
/// tells nothing about images, but costs what a trained one does. UsageError where an option is out of range.
GeneratedModel generate_pruned_model(const ModelFamilyOptions& options);

}  // namespace spdnn
