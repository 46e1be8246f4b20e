#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/pruned_matrix.hpp"
#include "spdnn/model.hpp"
#include "spdnn/tensor.hpp"

namespace spdnn {

struct ModelFamilyOptions {
  /// lenet5 (LeCun et al. 1998, as Caffe has it), vgg8 (six convolutions, two linear nodes), vgg16 (Simonyan &
  /// Zisserman 2015), resnet50 (He et al. 2016, with the stride in the 3x3 convolution, as torchvision has it),
  /// mobilenet (MobileNetV1, Howard et al. 2017), densenet (DenseNet-121, Huang et al. 2017), or random: a small model
  /// with every operation that a model may have, which the seed varies.
  std::string family;
  /// The share of zeros among the weights, 0 to below 1: one for all layers but the first and depthwise ones, which
  /// stay dense, as is usual; or one for each convolution and linear node, in their order.
  std::vector<double> sparsity{0.9};
  RowLaw rows = RowLaw::skewed;
  std::uint64_t seed = 1;                     ///< the same seed gives the same model on every machine
  std::optional<Shape> image = std::nullopt;  ///< C, H, W; default: what the family is known for
  std::optional<Index> classes = std::nullopt;
};

/// A pruned CNN with random weights of such sizes that activations neither vanish nor explode. It knows nothing about
/// images, but costs what a trained one does. UsageError where an option is out of range or images are too small.
Model generate_model(const ModelFamilyOptions& options);

/// Numbers uniform in [-1, 1), the same on every machine. UsageError where the shape has too many.
Tensor generate_tensor(const Shape& shape, std::uint64_t seed);

}  // namespace spdnn
