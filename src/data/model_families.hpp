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
  /// lenet5 (LeCun et al. 1998, as in Caffe), vgg8 (six convolutions, two linear nodes), vgg16 (Simonyan & Zisserman
  /// 2015), resnet50 (He et al. 2016, with the stride in the 3x3 convolution, as in torchvision), mobilenet
  /// (MobileNetV1, Howard et al. 2017), densenet (DenseNet-121, Huang et al. 2017), or random: a small model with every
  /// supported operation, varied by the seed.
  std::string family;
  /// The share of zeros among the weights, 0 to below 1: either one for all layers except the first and depthwise ones,
  /// which usually stay dense, or a list with one per convolution and linear node, in order.
  std::vector<double> sparsity{0.9};
  RowLaw rows = RowLaw::skewed;
  std::uint64_t seed = 1;                     ///< the same seed gives the same model on every machine
  std::optional<Shape> image = std::nullopt;  ///< C, H, W; default: the family's usual size
  std::optional<Index> classes = std::nullopt;
};

/// A pruned CNN with random weights, scaled so that activations neither vanish nor explode. It has not learned
/// anything, but costs as much as a trained one. UsageError if an option is out of range or images are too small.
Model generate_model(const ModelFamilyOptions& options);

/// Numbers uniform in [-1, 1), the same on every machine. UsageError if the shape has too many elements.
Tensor generate_tensor(const Shape& shape, std::uint64_t seed);

}  // namespace spdnn
