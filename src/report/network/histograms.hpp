#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plan/census.hpp"
#include "report/document.hpp"
#include "report/network/sections.hpp"

namespace spdnn::network_sections {

/// From the first value to the last.
using Range = std::pair<Offset, Offset>;

/// Values one by one where they are few; otherwise ranges, of equal width, or each twice as wide as the one before
/// where the values lie far apart.
std::vector<Range> ranges_of(const Histogram& histogram);
std::string text_of(const Range& range);
Offset count_in(const Histogram& histogram, const Range& range);

/// What a histogram is of.
struct Counted {
  std::string id;
  std::string title;
  std::string of;     ///< what is counted, such as neurons
  std::string value;  ///< by what
  Histogram LayerCensus::*histogram;
};

/// Shares of the whole network and of the layer that is looked at.
Chart histogram_chart(const Counted& counted, const Census& census, Index shown, std::string description);
/// Least, median and greatest value of each layer; nothing where all of them are the same.
std::optional<Chart> chart_by_layer(const Counted& counted, const Census& census, std::string description);

}  // namespace spdnn::network_sections
