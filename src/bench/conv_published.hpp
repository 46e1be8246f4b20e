#pragma once

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/conv_bench.hpp"

namespace spdnn::bench {

/// The times that a paper reports for a layer, on its own machine.
struct PublishedTimes {
  std::string_view source;
  std::string_view device;
  std::vector<std::pair<std::string_view, double>> seconds;  ///< by kernel and precision
};

/// Of the layer, share of zeros and batch of a case on a GPU.
std::optional<PublishedTimes> published_times(const ConvCase& one);

}  // namespace spdnn::bench
