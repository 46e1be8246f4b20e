#include "report/network/histograms.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/by_layer.hpp"

namespace spdnn::network_sections {

std::vector<Range> ranges_of(const Histogram& histogram) {
  constexpr std::size_t kMost = 20;
  constexpr Offset kFarApart = 16;  // ratio of the greatest value to the median
  std::vector<Range> ranges;
  if (histogram.bins.size() <= kMost) {
    for (const Histogram::Bin& bin : histogram.bins) ranges.emplace_back(bin.value, bin.value);
    return ranges;
  }
  const bool far_apart = histogram.max() > kFarApart * std::max<Offset>(1, histogram.median());
  Offset width = far_apart ? 1 : (histogram.max() - histogram.min()) / kMost + 1;
  for (Offset first = histogram.min(); first <= histogram.max(); first += width) {
    if (far_apart) width = std::max<Offset>(1, first);
    ranges.emplace_back(first, first + width - 1);
  }
  return ranges;
}

std::string text_of(const Range& range) {
  return range.first == range.second ? std::to_string(range.first) : fmt::format("{} to {}", range.first, range.second);
}

Offset count_in(const Histogram& histogram, const Range& range) {
  Offset count = 0;
  for (const Histogram::Bin& bin : histogram.bins)
    if (bin.value >= range.first && bin.value <= range.second) count += bin.count;
  return count;
}

Chart histogram_chart(const Counted& counted, const Census& census, Index shown, std::string description) {
  Chart chart{.id = counted.id,
              .title = counted.title,
              .description = std::move(description),
              .kind = Chart::Kind::bars,
              .x = {"% of the " + counted.of}};
  const std::vector<Range> ranges = ranges_of(census.sum.*counted.histogram);
  for (const Range& range : ranges) chart.categories.push_back(text_of(range));
  const auto add = [&](std::string name, const Histogram& histogram) {
    Series series{std::move(name)};
    const auto total = static_cast<double>(std::max<Offset>(1, histogram.total()));
    for (std::size_t i = 0; i < ranges.size(); ++i)
      series.points.push_back(
          {static_cast<double>(i), 100 * static_cast<double>(count_in(histogram, ranges[i])) / total});
    chart.series.push_back(std::move(series));
  };
  if (census.layers.size() > 1) add("all layers", census.sum.*counted.histogram);
  add(fmt::format("layer {}", shown + 1), census.layers[shown].*counted.histogram);
  return chart;
}

std::optional<Chart> chart_by_layer(const Counted& counted, const Census& census, std::string description) {
  constexpr Offset kFarApart = 30;
  const Histogram& all = census.sum.*counted.histogram;
  if (all.min() == all.max() || census.layers.size() < 2) return std::nullopt;
  const bool logarithmic = all.min() > 0 && all.max() > kFarApart * all.min();
  Chart chart{.id = counted.id + "-by-layer",
              .title = counted.title + ", by layer",
              .description = std::move(description),
              .kind = Chart::Kind::lines,
              .x = {"layer"},
              .y = {counted.value, logarithmic}};
  const auto add = [&](const char* name, Offset (Histogram::*value)() const) {
    std::vector<double> values;
    for (const LayerCensus& layer : census.layers)
      values.push_back(static_cast<double>(((layer.*counted.histogram).*value)()));
    chart.series.push_back({name, points_by_layer(values, logarithmic), true, false});
  };
  add("greatest", &Histogram::max);
  add("median", &Histogram::median);
  add("least", &Histogram::min);
  chart.series = without_twins(chart.series);
  return chart;
}

}  // namespace spdnn::network_sections
