#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/census.hpp"
#include "report/document.hpp"
#include "report/network/sections.hpp"

namespace spdnn::network_sections {

/// The first and the last value.
using Range = std::pair<Offset, Offset>;

/// Single values if there are few; otherwise ranges of equal width, or ranges that double in width if the values are
/// widely spread.
std::vector<Range> ranges_of(const Histogram& histogram);
std::string text_of(const Range& range);
Offset count_in(const Histogram& histogram, const Range& range);

/// The quantity of a histogram.
struct Counted {
  std::string id;
  std::string title;
  std::string of;     ///< the counted things, such as neurons
  std::string value;  ///< the quantity on the axis
  Histogram LayerCensus::*histogram;
};

/// Shares for the whole network and for the layer shown in detail.
Chart histogram_chart(const Counted& counted, const Census& census, Index shown, std::string description);
/// Minimum, median and maximum of each layer; empty if all values are equal.
std::optional<Chart> chart_by_layer(const Counted& counted, const Census& census, std::string description);

}  // namespace spdnn::network_sections
