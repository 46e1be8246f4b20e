#pragma once

#include <string>

#include "bench/conv_bench.hpp"
#include "spdnn/model.hpp"

namespace spdnn::bench {

/// The layer alone.
Model model_of(const ConvCase& one);
/// The layer, and where its results have two rows and columns a ReLU and the maxima of 2 x 2 results.
Model pooled_model_of(const ConvCase& one);
/// The layer with images in uint8, multiples of 1/128, and weights in int8. The layer is the last node.
Model whole_model_of(const ConvCase& one);

/// The layer with its weights stored as 2:4, or why they are not.
struct GroupedModel {
  Model model{};
  std::string why_not{};
};
GroupedModel grouped_model_of(const ConvCase& one);

}  // namespace spdnn::bench
