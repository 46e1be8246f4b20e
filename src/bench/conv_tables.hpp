#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "spdnn/model.hpp"

namespace spdnn::bench {

/// A convolution of a table: images of channels x height x width.
struct ConvLayer {
  Extent channels = 1;
  Extent height = 1;  ///< 1 for a sequence
  Extent width = 1;
  Index filters = 1;
  Window window{};
  Index groups = 1;

  bool depthwise() const { return groups > 1 && Extent{groups} == channels; }
  /// First layers, which read images of at most three channels, and depthwise ones stay dense where networks are
  /// pruned.
  bool pruned() const { return channels > 3 && !depthwise(); }
  /// `64x56x56 3x3/2 -> 128`, with groups where there are several.
  std::string name() const;
};

/// The tables: layers that papers on sparse convolutions measured, and those of well-known networks.
const std::vector<std::string_view>& conv_tables();
/// The distinct layers of a table. UsageError that names the choices.
std::vector<ConvLayer> conv_table(const std::string& name);

}  // namespace spdnn::bench
